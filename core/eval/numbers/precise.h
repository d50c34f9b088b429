// Precise: the same module with all floating point in double precision.
#pragma once

#include <cstdint>
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
//
// With Roundings::kAsked, what the module asks for is rounded all the same, in its mantissa: by
// reduce-precision to some bits fewer than its type has (and to fewer bits of exponent), by
// conversions to narrower types, and by what is computed in types narrower than f32.
//
// With EntryTypes::kWide the entry takes its parameters as WidenedShape has them.
enum class Roundings : uint8_t { kNone, kAsked };
enum class EntryTypes : uint8_t { kKept, kWide };
std::shared_ptr<const hlo::Module> WidenModule(const hlo::Module& module,
                                               Roundings roundings = Roundings::kNone,
                                               EntryTypes entry = EntryTypes::kKept);

// True if all floats of the module are f64 or c128, and some are: WidenModule changes nothing, and
// its values are no more precise than the module's own.
bool ComputesInDouble(const hlo::Module& module);
// True if the module asks for any of these.
bool AsksForRounding(const hlo::Module& module);
// True of a reduce-precision that rounds more than the last bits of its type.
bool IsCoarseRounding(const hlo::Module& module, hlo::InstructionId id);

// The literal with elements of another type, each rounded once; dynamic sizes are kept. Tuples leaf
// by leaf, `shape` being the target's.
hlo::Literal ConvertLiteral(const hlo::Literal& literal, const hlo::Shape& shape);

}  // namespace hloscope::eval
