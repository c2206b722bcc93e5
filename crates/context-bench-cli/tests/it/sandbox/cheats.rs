//! Programs that take too much, and programs that claim to be right.

use super::attempts::{ASSERTION, Attempt, EARLY, PASSED, TOO_MUCH, VIOLATION, attempt};

pub(super) fn resources() -> Vec<Attempt> {
    vec![
        attempt(
            "fork without end",
            "import os\nwhile True:\n    os.fork()",
            VIOLATION,
        ),
        attempt(
            "start threads without end",
            "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            &["sandbox_violation", "memory"],
        ),
        attempt(
            "take much memory at once",
            "x = bytearray(4 << 30)",
            &["memory"],
        ),
        attempt(
            "take memory bit by bit",
            "x = []\nwhile True:\n    x.append(bytearray(1 << 20))",
            &["memory"],
        ),
        attempt(
            "take memory in many processes",
            "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        x = bytearray(os.urandom(1 << 20)) * 150\n        time.sleep(60)\ntime.sleep(60)",
            &["memory"],
        ),
        attempt(
            "share memory among processes",
            "import mmap, os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        n = 120 << 20\n        m = mmap.mmap(-1, n)\n        for i in range(0, n, 1 << 20):\n            m[i:i + (1 << 20)] = bytes(1 << 20)\n        time.sleep(60)\ntime.sleep(60)",
            &["memory"],
        ),
        attempt(
            "share memory and let go of it",
            "import mmap, os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        n = 120 << 20\n        m = mmap.mmap(-1, n)\n        for i in range(0, n, 1 << 20):\n            m[i:i + (1 << 20)] = bytes(1 << 20)\n            m.madvise(mmap.MADV_DONTNEED)\n        time.sleep(60)\ntime.sleep(60)",
            &["memory"],
        ),
        attempt(
            "share memory of a device",
            "import mmap, os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        n = 120 << 20\n        m = mmap.mmap(os.open('/dev/zero', os.O_RDWR), n)\n        for i in range(0, n, 1 << 20):\n            m[i:i + (1 << 20)] = bytes(1 << 20)\n        time.sleep(60)\ntime.sleep(60)",
            &["memory"],
        ),
        attempt(
            "keep removed files",
            "import os, time\nkept = []\nfor i in range(20):\n    f = open('x', 'wb')\n    f.write(bytes(15 << 20))\n    f.flush()\n    os.unlink('x')\n    kept.append(f)\ntime.sleep(60)",
            TOO_MUCH,
        ),
        attempt(
            "write output without end",
            "while True:\n    print('x' * 10000)",
            TOO_MUCH,
        ),
        attempt(
            "write a file without end",
            "f = open('x', 'w')\nwhile True:\n    f.write('x' * 100000)",
            TOO_MUCH,
        ),
        attempt(
            "write many files",
            "n = 0\nwhile True:\n    n += 1\n    open('f%d' % n, 'w').write('x' * 1000000)",
            TOO_MUCH,
        ),
        attempt(
            "make many files",
            "n = 0\nwhile True:\n    n += 1\n    open('f%d' % n, 'w').close()",
            TOO_MUCH,
        ),
        attempt(
            "open many files",
            "x = [open('/dev/null') for _ in range(1000)]",
            VIOLATION,
        ),
        attempt("loop without end", "while True: pass", &["timeout"]),
        attempt(
            "sleep without end",
            "import time; time.sleep(10**6)",
            &["timeout"],
        ),
        attempt(
            "loop and ignore signals",
            "import signal\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGALRM):\n    signal.signal(s, signal.SIG_IGN)\nwhile True: pass",
            &["timeout"],
        ),
        attempt(
            "catch everything in a loop",
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
            &["timeout"],
        ),
        attempt(
            "close all streams and sleep",
            "import os, time; os.closerange(0, 64); time.sleep(10**6)",
            &["timeout"],
        ),
        attempt(
            "crash the interpreter",
            "import ctypes; ctypes.string_at(0)",
            &["exception"],
        ),
        attempt("abort", "import os; os.abort()", &["exception"]),
        attempt(
            "recurse without end",
            "def f(): return f() + 1\nf()",
            &["exception"],
        ),
        attempt("wait for input", "input()", &["exception"]),
    ]
}

pub(super) fn cheats() -> Vec<Attempt> {
    let fake = "import os\nfor fd in range(64):\n    try:\n        os.write(fd, b'\\npassed\\n\\n\\n')\n    except OSError:\n        pass\nos._exit(0)";
    vec![
        attempt("exit at once", "import os; os._exit(0)", EARLY),
        attempt("exit politely", "import sys; sys.exit(0)", EARLY),
        attempt("raise SystemExit", "raise SystemExit", EARLY),
        attempt(
            "exit later",
            "import atexit, os\natexit.register(os._exit, 0)\ndef f(): raise SystemExit",
            EARLY,
        ),
        attempt(
            "become another program",
            "import os, sys; os.execv(sys.executable, [sys.executable, '-S', '-c', 'pass'])",
            EARLY,
        ),
        attempt("claim to have passed", fake, EARLY),
        attempt(
            "define the test away",
            "def check(candidate): pass\ndef f(): return 0",
            ASSERTION,
        ),
        attempt(
            "redefine assertions",
            "import builtins\nbuiltins.AssertionError = SystemExit\nclass AssertionError(Exception): pass\ndef f(): return 0",
            &["assertion", "exited_early", "exception"],
        ),
        attempt(
            "replace the builtins",
            "import builtins\nbuiltins.exec = builtins.compile = print\nbuiltins.BaseException = int\ndef f(): return 0",
            ASSERTION,
        ),
        attempt(
            "patch the driver",
            "import os, sys\nos._exit = lambda code: None\nos.write = len\nsys.exit = print\ndef f(): return 0",
            ASSERTION,
        ),
        attempt("be right", "def f(): return 1", PASSED),
        attempt("be wrong", "def f(): return 0", ASSERTION),
        attempt("not be Python", "def f(:", &["syntax_error"]),
        attempt("fail", "def f(): return 1 / 0", &["exception"]),
    ]
}
