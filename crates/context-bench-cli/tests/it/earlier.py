# Makes the last run of a store one of an earlier version, which kept no spec and no plan.
# The checksum is that of `store/run_table.rs`.
import hashlib, json, sqlite3, struct, sys

db = sqlite3.connect(sys.argv[1])
columns = "number, id, created_at, finished_at, status, command, config"
last = f"SELECT {columns} FROM runs ORDER BY number DESC LIMIT 1"
number, run, created, finished, status, command, config = db.execute(last).fetchone()
config = json.loads(config)
del config["spec"], config["plan"]
for key in sys.argv[2:]:
    del config["provenance"][key]
config = json.dumps(config)

sha = hashlib.sha256()
whole = lambda number: sha.update(struct.pack("<q", number))
sized = lambda data: sha.update(struct.pack("<Q", len(data)) + data)
text = lambda data: (whole(1), sized(data.encode()))
sized(b"runs")
text(run), whole(created), whole(1), whole(finished)
text(status), text(command), text(config)
own = "SELECT m.name, s.key FROM run_systems m JOIN systems s ON s.id = m.system"
systems = db.execute(f"{own} WHERE m.run = ? ORDER BY m.number", (number,)).fetchall()
whole(len(systems))
for name, key in systems:
    text(name), sha.update(key)
own = "SELECT s.key FROM run_scorers m JOIN scorers s ON s.id = m.scorer"
for (key,) in db.execute(f"{own} WHERE m.run = ? ORDER BY m.number", (number,)):
    sha.update(key)
checksum = struct.unpack("<q", sha.digest()[:8])[0]
change = "UPDATE runs SET config = ?, checksum = ? WHERE number = ?"
db.execute(change, (config, checksum, number))
db.commit()
