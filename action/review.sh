#!/bin/sh
# review.sh MODEL BASE OUT [FLAG...]
#
# Checks MODEL, a path in the repository, with the flags of zinc check, compares it with the one of the branch BASE, and
# writes OUT/comment.md and OUT/zinc.sarif. The flags may be budgets relative to the base, such as --max-slowdown=5%;
# where the base does not have the model, they do not apply. With BASE "" nothing is compared. Exit status 4: a budget
# is exceeded. ZINC names the program. In a workflow the comment is the job's summary too.
set -u
model=$1 base=$2 out=$3
shift 3
: "${ZINC:=zinc}"
mkdir -p "$out" || exit 2
comment=$out/comment.md
: >"$comment"

# The base is checked out beside the work tree, with what filters such as LFS make of its files.
old=
if [ -n "$base" ]; then
	if git remote get-url origin >/dev/null 2>&1; then
		git fetch --quiet --no-tags --depth=1 origin "$base" && base=FETCH_HEAD || exit 2
	fi
	tree=$(mktemp -d) || exit 2
	trap 'git worktree remove --force "$tree/base"; rm -rf "$tree"' EXIT
	git worktree add --quiet --detach "$tree/base" "$base" || exit 2
	old=$tree/base/$model
fi

# Without a model in the base there is nothing that budgets could be relative to.
if [ -n "$old" ] && [ -e "$old" ]; then
	set -- "$@" --base "$old"
else
	old=
	for flag; do
		shift
		case $flag in
		--max-slowdown=* | --max-weight-growth=* | --max-extra-dispatches=*) ;;
		*) set -- "$@" "$flag" ;;
		esac
	done
fi

status=0
"$ZINC" check "$model" --report markdown="$out/check.md" --report sarif="$out/zinc.sarif" "$@" || status=$?
if [ -s "$out/check.md" ]; then
	cat "$out/check.md" >>"$comment"
else
	echo "\`$model\` cannot be checked; see the log." >>"$comment"
fi

# A difference is no failure (exit status 1 of diff), a model that cannot be compared is one.
if [ -n "$old" ] && [ -s "$out/check.md" ]; then
	printf '\n### Against the base\n\n' >>"$comment"
	differs=0
	"$ZINC" diff "$old" "$model" --markdown --label-a base --label-b "this change" >>"$comment" || differs=$?
	if [ "$differs" -gt 1 ]; then
		echo "The models cannot be compared; see the log." >>"$comment"
		[ "$status" -ne 0 ] || status=$differs
	fi
elif [ -n "$base" ]; then
	printf '\nThe base branch does not have this model.\n' >>"$comment"
fi

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
	cat "$comment" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
	echo "comment=$comment" >>"$GITHUB_OUTPUT"
	[ ! -s "$out/zinc.sarif" ] || echo "sarif=$out/zinc.sarif" >>"$GITHUB_OUTPUT"
fi
exit $status
