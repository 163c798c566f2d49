#!/bin/sh
# precommit.sh [FLAG...] FILE...
#
# Runs zinc check with the flags on the model that each file belongs to, once a model. pre-commit calls it.
set -u
: "${ZINC:=zinc}"
command -v "$ZINC" >/dev/null 2>&1 || {
	echo "zinc is not installed; see https://github.com/zinc-compiler/zinc" >&2
	exit 1
}
models=
count=$#
while [ "$count" -gt 0 ]; do
	word=$1
	shift
	count=$((count - 1))
	case $word in
	-*) set -- "$@" "$word" && continue ;;
	*.mlpackage/*) word=${word%%.mlpackage/*}.mlpackage ;;
	*.mlmodelc/*) word=${word%%.mlmodelc/*}.mlmodelc ;;
	esac
	case "
$models" in
	*"
$word
"*) ;;
	*) models="$models$word
" ;;
	esac
done
status=0
while read -r model; do
	[ -n "$model" ] || continue
	"$ZINC" check "$model" "$@" </dev/null || status=$?
done <<END
$models
END
exit $status
