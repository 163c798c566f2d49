// Package netplist reads and writes network descriptions: property lists that
// name the layers of a network ("units"), their wiring, and where in weight files their coefficients are.
//
// Input: the bytes of a property list, XML or binary, of version 1.0.9 or
// 1.0.10, and the folder of its weight files. Output: an
// ir.Program with one function for each network, whose inputs and outputs have the order of the description; or an
// *Error. Write does the reverse, for the operations that the format can express.
//
// Tensors have the axes batch, channel, height and width, in this order; in a network in which a tensor is deeper than
// 1, depth is in front of batch, as it is in memory: it has the largest stride in the recorded descriptions. An output
// "probs@output" is the value "probs".
//
// Invariants: every key of a description is understood or refused by name; only the names for people (UnescapedName and
// UnescapedBottom) are ignored. Strides must be as in zinc's layout of tensors. A weight file is looked up in the
// folder by its path if that is local, or else by its base name, since paths in descriptions belong to the machine that
// wrote them. No file outside the folder is opened. Nesting, objects and sizes are checked before the property list is
// decoded, and memory is limited to a few times the size of the list and of the weight files.
//
// The table of units (units.go) states for each unit and each of its kinds whether recorded descriptions have it or its
// name and meaning are modelled.
package netplist
