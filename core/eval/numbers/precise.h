// Precise: the same module with all floating point in double precision.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::eval {

// f64 for every float type, c128 for every complex one, tuples element by element; others as they
// are. Tiles and element sizes of layouts, which are those of the narrower type, are left out.
hlo::Shape WidenedShape(const hlo::Shape& shape);

// The module that computes the same in f64 and c128: parameters of the entry keep their types and
// are converted on entry, nothing is rounded in between (conversions among floats and
// reduce-precision round no more), and the entry's result stays wide. What means the bits of a
// type (bitcast-convert, random numbers, infeed and send, scaled dots, custom calls whose kernels
// know only given types) keeps its types, with conversions around it. Control dependencies are left
// out: the order of instructions is kept.
std::shared_ptr<const hlo::Module> WidenModule(const hlo::Module& module);

// The literal with elements of another type, each rounded once; dynamic sizes are kept. Tuples leaf
// by leaf, `shape` being the target's.
hlo::Literal ConvertLiteral(const hlo::Literal& literal, const hlo::Shape& shape);

}  // namespace hloscope::eval
