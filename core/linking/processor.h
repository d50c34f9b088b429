// ProcessorName, HasByteProducts: which processor code is for.
#pragma once

#include <string>

namespace hloscope::linking {

// The same for processors for which the same code would be written: vendor, model and features, of
// which the system says that it keeps their registers. Empty on others than x86-64.
std::string ProcessorName();

// Whether this processor adds up products of bytes (AVX512-VNNI, for vectors of any length).
bool HasByteProducts();

}  // namespace hloscope::linking
