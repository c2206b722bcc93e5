#!/bin/sh
# The wheel on another interpreter, when there is one: a fresh environment, the
# package alone, and the tests that need nothing else.
set -eu
version=$1
current=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
[ "$version" != "$current" ] || exit 0
found=""
for python in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    if "$python" -c 'import sys, venv; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' "$version" 2>/dev/null; then
        found=$python
        break
    fi
done
if [ -z "$found" ]; then
    echo "python $version is not there: skipped"
    exit 0
fi
venv=target/venv-$version
"$found" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet pytest target/wheels/*.whl
echo "python $version"
"$venv/bin/python" -m pytest --quiet -m "not slow" python/tests
