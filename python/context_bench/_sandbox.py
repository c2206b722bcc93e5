"""The launcher of the sandbox for generated code: a small program, not a module to import.

Started as ``python -I -S _sandbox.py __sandbox …``, it restricts its own process and becomes the
interpreter that runs the code. It must stay single-threaded and start fast.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    _folder = Path(__file__).parent
    # Only the extension is loaded, because importing the package takes longer.
    for _suffix in EXTENSION_SUFFIXES:
        _file = _folder / f"_native{_suffix}"
        if _file.exists():
            _loader = ExtensionFileLoader("_native", str(_file))
            _spec = spec_from_file_location("_native", _file, loader=_loader)
            assert _spec is not None
            _native = module_from_spec(_spec)
            _loader.exec_module(_native)
            _native.sandbox(sys.argv)
            break
    sys.exit(1)
