//! What programs try in the sandbox, and how that may end.

use super::Outside;

/// How an attempt may end.
pub(super) struct Attempt {
    pub(super) name: &'static str,
    pub(super) code: String,
    /// Short names of verdicts; the first is the usual one.
    pub(super) verdicts: &'static [&'static str],
    /// Whether it needs its time limit to end.
    pub(super) is_slow: bool,
}

pub(super) fn attempt(
    name: &'static str,
    code: &str,
    verdicts: &'static [&'static str],
) -> Attempt {
    Attempt {
        name,
        code: code.to_owned(),
        verdicts,
        is_slow: verdicts[0] == "timeout",
    }
}

pub(super) const VIOLATION: &[&str] = &["sandbox_violation"];
pub(super) const EARLY: &[&str] = &["exited_early"];
pub(super) const ASSERTION: &[&str] = &["assertion"];
pub(super) const PASSED: &[&str] = &["passed"];
pub(super) const TOO_MUCH: &[&str] = &["output_limit"];

pub(super) fn files(outside: &Outside) -> Vec<Attempt> {
    let secret = outside.secret().display().to_string();
    let folder = outside.folder.path().display().to_string();
    let home = std::env::var("HOME").unwrap_or("/root".into());
    let repo = env!("CARGO_MANIFEST_DIR");
    let mark = &outside.mark;
    let mut all = vec![
        attempt(
            "read a file of the user",
            &format!("open('{secret}').read()"),
            VIOLATION,
        ),
        attempt(
            "list a folder of the user",
            &format!("import os; os.listdir('{folder}')"),
            VIOLATION,
        ),
        attempt(
            "list the home folder",
            &format!("import os; assert not os.listdir('{home}/.ssh')"),
            VIOLATION,
        ),
        attempt("read /etc/passwd", "open('/etc/passwd').read()", VIOLATION),
        attempt("read /etc/shadow", "open('/etc/shadow').read()", VIOLATION),
        attempt(
            "read the repository",
            &format!("open('{repo}/Cargo.toml').read()"),
            // Where the private root has no such folder, the file is just not there.
            &["sandbox_violation", "exception"],
        ),
        attempt("read /dev/mem", "open('/dev/mem', 'rb').read(1)", VIOLATION),
        attempt(
            "write a file of the user",
            &format!("open('{secret}', 'a').write('x')"),
            VIOLATION,
        ),
        attempt(
            "write into the home folder",
            &format!("open('{home}/{mark}', 'w')"),
            VIOLATION,
        ),
        attempt(
            "change the mode of a file",
            &format!("import os; os.chmod('{secret}', 0o777)"),
            VIOLATION,
        ),
        attempt(
            "change the time of a file",
            &format!("import os; os.utime('{secret}', (0, 0))"),
            VIOLATION,
        ),
        attempt(
            "cut a file off",
            &format!("import os; os.truncate('{secret}', 0)"),
            VIOLATION,
        ),
        attempt(
            "cut a file off while reading it",
            "import os\nopen('x', 'w').write('x')\nos.open('x', os.O_RDONLY | os.O_TRUNC)",
            VIOLATION,
        ),
        attempt(
            "remove a file",
            &format!("import os; os.remove('{secret}')"),
            VIOLATION,
        ),
        attempt(
            "rename a file",
            &format!("import os; os.rename('{secret}', 'x')"),
            VIOLATION,
        ),
        attempt(
            "make a folder",
            &format!("import os; os.mkdir('{folder}/x')"),
            VIOLATION,
        ),
        attempt(
            "remove a folder",
            &format!("import os; os.rmdir('{folder}/inner')"),
            VIOLATION,
        ),
        attempt(
            "follow a symbolic link out",
            &format!("import os; os.symlink('{secret}', 'x'); open('x').read()"),
            VIOLATION,
        ),
        attempt(
            "write through a symbolic link",
            &format!("import os; os.symlink('{folder}', 'd'); open('d/x', 'w')"),
            VIOLATION,
        ),
        attempt(
            "climb out by dots",
            &format!("open('../' * 20 + '{secret}'[1:]).read()"),
            VIOLATION,
        ),
        attempt(
            "make a hard link",
            &format!("import os; os.link('{secret}', 'x')"),
            VIOLATION,
        ),
        attempt(
            "make a device",
            "import os, stat; os.mknod('x', stat.S_IFCHR | 0o666, 0)",
            VIOLATION,
        ),
        attempt(
            "read its own memory file",
            "open('/proc/self/mem', 'rb')",
            VIOLATION,
        ),
        attempt(
            "read its own environment file",
            "open('/proc/self/environ', 'rb')",
            VIOLATION,
        ),
        attempt(
            "read the environment of its parent",
            "import os; open('/proc/%d/environ' % os.getppid(), 'rb')",
            VIOLATION,
        ),
        attempt(
            "read the environment of process 1",
            "open('/proc/1/environ', 'rb')",
            VIOLATION,
        ),
        attempt(
            "find keys in its environment",
            "import os\nassert set(os.environ) <= {'HOME', 'TMPDIR', 'PATH', 'LANG', 'LC_CTYPE', 'TZ', \
             'PYTHONHASHSEED', 'PYTHONUTF8', 'MALLOC_ARENA_MAX', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'}, os.environ",
            PASSED,
        ),
        attempt(
            "import from the user's folder",
            "import os, sys\nassert '' not in sys.path and os.listdir('.') == []\nimport Cargo",
            &["exception"],
        ),
        attempt(
            "run a program",
            "import subprocess; subprocess.run(['/bin/ls'])",
            VIOLATION,
        ),
        attempt(
            "run a program of its own",
            "import os, subprocess\nopen('x', 'w').write('#!/bin/sh\\n')\nsubprocess.run(['./x'])",
            VIOLATION,
        ),
    ];
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        all.push(attempt(
            "write into a common folder",
            &format!("open('{place}/{mark}', 'w')"),
            VIOLATION,
        ));
    }
    all
}

pub(super) fn network(outside: &Outside) -> Vec<Attempt> {
    let tcp = outside.tcp.local_addr().unwrap().port();
    let udp = outside.udp.local_addr().unwrap().port();
    let socket = |rest: &str| format!("import socket\n{rest}");
    vec![
        attempt(
            "connect to loopback",
            &socket(&format!(
                "socket.create_connection(('127.0.0.1', {tcp}), 2)"
            )),
            VIOLATION,
        ),
        attempt(
            "connect outside",
            &socket("socket.create_connection(('1.1.1.1', 80), 2)"),
            VIOLATION,
        ),
        attempt(
            "send a datagram",
            &socket(&format!(
                "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp}))"
            )),
            VIOLATION,
        ),
        attempt(
            "make an IPv6 socket",
            &socket("socket.socket(socket.AF_INET6)"),
            VIOLATION,
        ),
        attempt(
            "make an abstract Unix socket",
            &socket("socket.socket(socket.AF_UNIX).connect('\\0x')"),
            VIOLATION,
        ),
        attempt(
            "make a raw socket",
            &socket("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
            VIOLATION,
        ),
        attempt(
            "make a netlink socket",
            &socket("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
            VIOLATION,
        ),
        attempt(
            "make a pair of datagram sockets",
            &socket("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)"),
            VIOLATION,
        ),
        attempt(
            "look up a name",
            &socket("socket.getaddrinfo('example.com', 80)"),
            &["exception", "sandbox_violation"],
        ),
        attempt(
            "download",
            "import urllib.request; urllib.request.urlopen('http://1.1.1.1', timeout=2)",
            &["exception", "sandbox_violation"],
        ),
        attempt(
            "use an event loop",
            "import asyncio\nasync def main():\n    await asyncio.sleep(0.01)\n    return 1\nassert asyncio.run(main()) == 1",
            PASSED,
        ),
    ]
}

pub(super) fn processes(outside: &Outside) -> Vec<Attempt> {
    let mark = &outside.mark;
    vec![
        attempt(
            "signal the parent",
            "import os; os.kill(os.getppid() or 99999, 9)",
            &["sandbox_violation", "exception"],
        ),
        attempt(
            "signal everybody",
            "import os; os.kill(-1, 9)",
            &["sandbox_violation", "exception"],
        ),
        attempt(
            "signal process 1",
            "import os; assert os.getpid() != 1; os.kill(1, 9)",
            &["sandbox_violation", "assertion"],
        ),
        attempt(
            "have the kernel signal the parent",
            "import fcntl, os\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, os.getppid())",
            VIOLATION,
        ),
        attempt(
            "kill itself",
            "import os; os.kill(os.getpid(), 9)",
            &["exception", "exited_early", "passed"],
        ),
        attempt(
            "leave its process group",
            "import os; os.setpgid(0, 0)",
            VIOLATION,
        ),
        attempt("leave its session", "import os; os.setsid()", VIOLATION),
        attempt(
            "leave a process behind",
            &format!(
                "import os, sys, time\nif os.fork() == 0:\n    if os.fork() == 0:\n        try:\n            os.setsid()\n        except OSError:\n            pass\n        os.execv(sys.executable, [sys.executable, '-S', '-c', 'import time; time.sleep(600)  # {mark}'])\n    os._exit(0)\ntime.sleep(0.3)\n"
            ),
            PASSED,
        ),
        attempt("become root", "import os; os.setuid(0)", VIOLATION),
        attempt("become another group", "import os; os.setgid(0)", VIOLATION),
        attempt("change the root", "import os; os.chroot('.')", VIOLATION),
        attempt(
            "lower its priority value",
            "import os; os.nice(-5)",
            VIOLATION,
        ),
        attempt(
            "set the clock",
            "import time; time.clock_settime(time.CLOCK_REALTIME, 0)",
            VIOLATION,
        ),
        attempt(
            "use threads",
            "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()",
            PASSED,
        ),
        attempt(
            "use child processes",
            "import os\npid = os.fork()\nif pid == 0:\n    os._exit(7)\nassert os.waitpid(pid, 0)[1] >> 8 == 7",
            PASSED,
        ),
    ]
}
