// Package netplist reads and writes network descriptions: property lists that
// name the layers of a network ("units"), their wiring, and where in weight files
// their coefficients lie.
//
// What goes in: the bytes of a property list, XML or binary, of version 1.0.9 or
// 1.0.10, and the folder that holds its weight files. What comes out: an
// ir.Program with one function a network, whose inputs and outputs have the order
// of the description; or an *Error. Write goes the other way, for the operations
// that the format can state.
//
// Tensors have the axes batch, channel, height and width, in this order; in a
// network any of whose tensors is deeper than 1 depth comes in front of batch,
// as it does in memory: depth has the largest stride of the recorded
// descriptions. An output "probs@output" is the value "probs".
//
// What always holds: every key of a description is understood or refused by name;
// nothing is passed over but the names for people (UnescapedName and
// UnescapedBottom). Strides must be those that zinc lays tensors out with. A
// weight file is found in the folder by its path where that is local, else by its
// base name, since paths of descriptions are those of the machine that wrote
// them; nothing outside the folder is opened. Nesting, objects and sizes are
// checked before the property list is decoded, and no more memory is taken than a
// few times the size of the list and of the weight files.
//
// The units table (units.go) says of each unit and of each of its kinds whether
// recorded descriptions show it or whether its name and meaning are modelled.
package netplist
