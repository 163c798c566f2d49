# Reads the output of `go test -bench` and prints, for every benchmark with a
# sub-name (BenchmarkParse/zinc), its speed over that of the first benchmark of
# its group (BenchmarkParse/...) in the same package. Speed is MB/s where the
# benchmark reports it, else 1/(ns/op), which compares only equal work.

/^pkg: / { pkg = $2 }

/^Benchmark[^ \t]*\// {
	name = $1
	group = name
	sub(/\/[^\/]*$/, "", group)
	ns = mb = 0
	for (i = 3; i < NF; i++) {
		if ($(i + 1) == "ns/op") ns = $i
		if ($(i + 1) == "MB/s") mb = $i
	}
	unit = mb > 0 ? "MB/s" : "ops/s"
	speed = mb > 0 ? mb : (ns > 0 ? 1e9 / ns : 0)
	if (speed == 0) next
	key = pkg SUBSEP group SUBSEP unit
	if (!(key in first)) {
		first[key] = speed
		firstName[key] = name
		next
	}
	if (!header++) print "\nratios"
	printf "%8.2f  %s over %s (%s)\n", speed / first[key], name, firstName[key], unit
}
