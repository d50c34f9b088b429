// What a module computes, as one line.
#pragma once

#include <string>

#include "core/hlo/module.h"

namespace hloscope::compile {

// The root of the entry as nested expressions: parameters by name, scalar constants by value, lists
// of numbers of an instruction in braces: "broadcast{0}(multiply(x, 2))".
std::string Expression(const hlo::Module& module);

// Parses `text`, runs the one pass of that name and returns what became of it; fails the test where
// the text does not parse or what comes out does not verify.
std::shared_ptr<const hlo::Module> AfterPass(std::string_view pass,
                                             const std::shared_ptr<const hlo::Module>& module);
std::shared_ptr<const hlo::Module> AfterPass(std::string_view pass, std::string_view text);

}  // namespace hloscope::compile
