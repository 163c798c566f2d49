#!/bin/sh
# budgets.sh HEAD_MODEL BASE_MODEL OUT_FOLDER
#
# Holds a model against its budgets and compares it, and its reports, with the model
# that it is to replace. BASE_MODEL may be absent: then there is nothing to compare.
# ZINC names the program; the budgets below are set from the environment as well.
set -u
head=$1 base=$2 out=$3
: "${ZINC:=zinc}"
: "${MAX_DISPATCHES:=4}"
: "${MAX_WEIGHT_BYTES:=134217728}"
: "${MAX_ESTIMATE_US:=20000}"
: "${MIN_ENGINE_OPS:=90}"
: "${MAX_SLOWDOWN:=5%}"
: "${MAX_WEIGHT_GROWTH:=10%}"
: "${MAX_EXTRA_DISPATCHES:=0}"
: "${MIN_ENGINE_MACS:=95}"
: "${MAX_ERROR:=0.05}"
mkdir -p "$out" || exit 2
status=0

# Budgets relative to the base, if there is one.
against=
if [ -e "$base" ]; then
	against=yes
fi

# Placement, bytes and time. The reports are written whether or not a budget is
# exceeded.
"$ZINC" "$head" --output "$out/head.hwx" \
	--report markdown="$out/head.md" --report summary="$out/head.csv" --report sarif="$out/zinc.sarif" \
	--max-dispatches "$MAX_DISPATCHES" --max-weight-bytes "$MAX_WEIGHT_BYTES" \
	--max-estimate-us "$MAX_ESTIMATE_US" --min-engine-macs "$MIN_ENGINE_MACS" \
	--min-engine-ops "$MIN_ENGINE_OPS" \
	${against:+--base "$base" --max-slowdown "$MAX_SLOWDOWN" --max-weight-growth "$MAX_WEIGHT_GROWTH"} \
	${against:+--max-extra-dispatches "$MAX_EXTRA_DISPATCHES"} || status=$?

# The error of the outputs, on inputs that follow from the seed.
"$ZINC" verify "$head" --seed 1 --max-error "$MAX_ERROR" >"$out/verify.txt" || status=$?

cat "$out/head.md" >"$out/comment.md" 2>/dev/null || echo "The model does not compile; see the log." >"$out/comment.md"
if [ -s "$out/verify.txt" ]; then
	{
		echo
		echo "<details><summary>Outputs against the reference</summary>"
		echo
		echo '```text'
		cat "$out/verify.txt"
		echo '```'
		echo
		echo "</details>"
	} >>"$out/comment.md"
fi

# What the change did: statements and constants that changed, with what each does to
# placement, tasks and bytes, then the figures of the report. A difference is no failure
# (exit status 1 of diff), a model that cannot be compared is one (2 and above).
if [ -e "$base" ]; then
	{
		echo
		echo "### Against the base"
		echo
	} >>"$out/comment.md"
	"$ZINC" diff "$base" "$head" --markdown --label-a "base" --label-b "this change" >"$out/diff.md"
	differs=$?
	cat "$out/diff.md" >>"$out/comment.md"
	if [ "$differs" -gt 1 ]; then
		echo "The models could not be compared; see the log." >>"$out/comment.md"
		[ "$status" -ne 0 ] || status=$differs
	fi
	if "$ZINC" "$base" --output "$out/base.hwx" --report markdown="$out/base.md" --report summary="$out/base.csv"; then
		{
			echo
			if (cd "$out" && cmp -s base.csv head.csv); then
				echo "No change in placement, sizes or estimates."
			else
				echo '```diff'
				(cd "$out" && diff -U 0 base.md head.md | tail -n +3 | grep -v -e '^@@' -e '^[-+]### zinc:')
				echo '```'
			fi
		} >>"$out/comment.md"
	fi
fi
exit $status
