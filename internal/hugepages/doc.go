// Package hugepages makes the heap of the process that imports it begin with huge pages, where the kernel leaves their
// use to programs. It has no names: importing it is the request, since packages allocate before main runs.
//
// On Linux the setting is madvise in /sys/kernel/mm/transparent_hugepage/enabled; elsewhere the package does nothing.
package hugepages
