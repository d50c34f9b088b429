// CallSite: an instruction whose meaning is to be written as plain instructions, with its operands.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::hlo::expand {

using ModulePtr = std::shared_ptr<const Module>;

/// What a value of that shape holds: buffers of memory hold an array.
const Shape& Held(const Shape& shape);

class CallSite {
 public:
  /// `integers` has the value of each operand that is an integer scalar, as far as it is known; by
  /// operand, or empty.
  CallSite(const Module& module, InstructionId id,
           std::span<const std::optional<int64_t>> integers = {})
      : module_(&module), id_(id), integers_(integers) {}

  const Module& module() const { return *module_; }
  InstructionId id() const { return id_; }
  const Instruction& instruction() const { return module()[id_]; }
  Opcode opcode() const { return instruction().opcode; }
  const Shape& shape() const { return module().shape(id_); }

  size_t operand_count() const { return module().operands(id_).size(); }
  const Shape& operand_shape(size_t i) const {
    return Held(module().shape(module().operands(id_)[i]));
  }
  bool has_array(size_t i) const { return operand_shape(i).IsArray(); }
  std::optional<int64_t> integer(size_t i) const {
    return i < integers_.size() ? integers_[i] : std::nullopt;
  }

 private:
  const Module* module_;
  InstructionId id_;
  std::span<const std::optional<int64_t>> integers_;
};

/// The size of an array of `shape` in elements; shapes of a verified module do not overflow.
int64_t ElementCount(const Shape& shape);
/// The dimensions as signed sizes, a copy.
std::vector<int64_t> Dimensions(const Shape& shape);

/// "convolution of f8e4m3fn cannot be evaluated", naming the instruction and a fix.
std::unexpected<Error> Unsupported(const Module& module, InstructionId id, const Shape& shape,
                                   std::string_view why);
std::unexpected<Error> Unsupported(const CallSite& call, std::string_view why);
/// An input error: the call contradicts itself.
std::unexpected<Error> Invalid(const CallSite& call, std::string_view why);

}  // namespace hloscope::hlo::expand
