// The C header and the CMake file that go with the object of a module.
#pragma once

#include <string>
#include <string_view>

#include "core/compile/object_code.h"

namespace hloscope::replay {

// A word for C out of any name: "2-layer mlp" becomes "m2_layer_mlp".
std::string CName(std::string_view name);

// The symbol of the object of that name.
std::string EntrySymbol(const std::string& c_name);

// Declares the entry, a function with a parameter of its own type for each array, and sizes.
// `target`: what the object is for, in words.
std::string CHeader(const compile::Plan& plan, const compile::ObjectCode& object,
                    const std::string& c_name, const std::string& target);

// A library target of that name: the object and its header, beside the CMake file, the runtime
// library, which is looked for where this program is too, and what else the object needs.
std::string CMakeFile(const compile::ObjectCode& object, const std::string& c_name,
                      const std::string& object_file, const std::string& program_folder);

}  // namespace hloscope::replay
