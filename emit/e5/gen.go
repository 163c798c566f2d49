package e5

//go:generate flatc --go -o internal e5.fbs
