// The same module with other roundings, which optimisations may do: what moves the reference as
// much as two platforms differ explains why they do.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// Every sum of a reduction, of a window, dot or convolution of floats taken in blocks that are
// rounded, those of products to f32 at least, and added up one by one. Null: there is none.
Result<std::shared_ptr<const hlo::Module>> SumsInBlocks(
    const std::shared_ptr<const hlo::Module>& module);

// Every sum of a reduction of floats taken as a tree, one half of the elements upon the other, each
// sum rounded to the type of the reducer. Null: there is none.
Result<std::shared_ptr<const hlo::Module>> SumsInTree(
    const std::shared_ptr<const hlo::Module>& module);

// Every product of f32 or a narrower float that is added or subtracted in the same computation, one
// that is not the entry, is rounded together with the sum, as FMA does; where both operands are
// products, the first. Meant for an optimised module, whose fusions are what code is generated for.
// Null: there is none.
Result<std::shared_ptr<const hlo::Module>> ProductsContracted(
    const std::shared_ptr<const hlo::Module>& module);

}  // namespace hloscope::debug
