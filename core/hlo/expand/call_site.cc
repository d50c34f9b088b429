// Errors that name the call.
#include "core/hlo/expand/call_site.h"

#include <fmt/format.h>

namespace hloscope::hlo::expand {

const Shape& Held(const Shape& shape) { return shape.IsBuffer() ? shape.elements()[0] : shape; }

int64_t ElementCount(const Shape& shape) { return shape.ElementCount().value_or(0); }

std::vector<int64_t> Dimensions(const Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

std::unexpected<Error> Unsupported(const Module& module, InstructionId id, const Shape& shape,
                                   std::string_view why) {
  return UnsupportedError(fmt::format("{}: {} {} cannot be evaluated: {}", module.name(id),
                                      ToString(module[id].opcode), ToString(shape, false), why),
                          "run it on another platform, or extract a part without it");
}

std::unexpected<Error> Unsupported(const CallSite& call, std::string_view why) {
  return Unsupported(call.module(), call.id(), call.shape(), why);
}

std::unexpected<Error> Invalid(const CallSite& call, std::string_view why) {
  return InputError(fmt::format("{}: {} {} is invalid: {}", call.module().name(call.id()),
                                ToString(call.opcode()), ToString(call.shape(), false), why));
}

}  // namespace hloscope::hlo::expand
