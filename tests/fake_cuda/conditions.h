// Conditional nodes of graphs.
#pragma once

#include <string>

namespace fake_cuda {

// A PTX text in which cudaGraphSetConditional is there: a condition is a word of the device's
// memory, and its handle the address.
std::string WithConditions(std::string ptx);

}  // namespace fake_cuda
