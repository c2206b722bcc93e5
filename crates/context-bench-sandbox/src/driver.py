"""Runs one program and reports how it ended; `sandbox/program.rs` knows the format.

Everything that is needed later is kept in local names, because the program may
change modules and builtins. The secret that proves a pass is read only after the
last test, so it is not in memory while the program runs.
"""


def main():
    import builtins
    import errno
    import os
    import sys

    read, write, leave = os.read, os.write, os._exit
    compiled, run, text_of, kind_of, is_a = compile, exec, str, type, isinstance
    everything = BaseException

    # Only the three standard streams come from outside.
    os.closerange(3, 4096)
    source, report_to = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    write(report_to, b"started\n")
    sys.path[:] = [entry for entry in sys.path if entry]
    home = os.getcwd()

    def exactly(length):
        data = bytearray()
        while len(data) < length:
            piece = read(source, length - len(data))
            if not piece:
                leave(1)
            data += piece
        return bytes(data)

    def number():
        digits = b""
        while not digits.endswith(b"\n"):
            digits += exactly(1)
        return int(digits)

    def line(text):
        return text[:500].encode("utf-8", "backslashreplace").replace(b"\r", b" ").replace(b"\n", b" ")

    def report(kind, name="", message="", token=b""):
        write(report_to, b"\n".join((token, kind, line(name), line(message))) + b"\n")
        leave(0)

    def message_of(error):
        try:
            return text_of(error)
        except everything:
            return ""

    def line_of(error):
        """The line of the tests, or else of the code, that the error comes from."""
        found, trace = {}, error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if name in lines:
                found[name] = lines[name][trace.tb_lineno - 1].strip()
            trace = trace.tb_next
        return found.get("<tests>") or found.get("<solution>", "")

    def refusal(error):
        """Whether the sandbox refused something, by what the error says."""
        if not is_a(error, OSError):
            return False
        number, name = error.errno, error.filename
        if number in (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS, errno.EMFILE, errno.EXDEV):
            return True
        if number == errno.EAGAIN and is_a(error, BlockingIOError):
            return True
        # Files outside the private folder do not exist for the program.
        if number == errno.ENOENT and is_a(name, (str, bytes)):
            return not os.path.realpath(os.fsdecode(name)).startswith(home)
        return False

    def explain(error):
        name, message = kind_of(error).__name__, message_of(error)
        if is_a(error, AssertionError):
            report(b"assertion", message=message or line_of(error))
        if is_a(error, SystemExit):
            report(b"exit")
        if is_a(error, MemoryError):
            report(b"memory")
        if is_a(error, OSError):
            if error.errno in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT):
                report(b"output")
            if error.errno == errno.ENOMEM:
                report(b"memory")
            cause = error
            for _ in range(8):
                if refusal(cause):
                    report(b"violation", name, name + ": " + message)
                cause = cause.__cause__ or cause.__context__
                if cause is None:
                    break
        if is_a(error, RuntimeError) and "can't start new thread" in message:
            report(b"violation", name, message)
        report(b"exception", name, message)

    count = number()
    texts = [exactly(number()).decode("utf-8", "replace") for _ in range(count)]
    candidates, tests = texts[:-1], texts[-1]
    lines = {"<tests>": tests.split("\n") + [""]}

    try:
        tests = compiled(tests, "<tests>", "exec", dont_inherit=True)
    except Exception as error:
        report(b"tests", message=message_of(error), token=exactly(32))
    code, first = None, None
    for candidate in candidates:
        try:
            code = compiled(candidate, "<solution>", "exec", dont_inherit=True)
            lines["<solution>"] = candidate.split("\n") + [""]
            break
        except Exception as error:
            first = first or error
    if code is None:
        report(b"syntax", kind_of(first).__name__, message_of(first))

    module = kind_of(sys)("solution")
    sys.modules["solution"] = module
    names = module.__dict__
    names["__builtins__"] = builtins
    try:
        run(code, names)
        names["__builtins__"] = builtins
        run(tests, names)
    except everything as error:
        try:
            explain(error)
        except everything:
            report(b"exception", "unknown")
    report(b"passed", token=exactly(32))


main()
