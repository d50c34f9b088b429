// Steps in words.
#include <bit>
#include <charconv>
#include <cmath>

#include "core/base/counted.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/trace/trace.h"

namespace hloscope::ptx {
namespace {

// The bits that follow say the sign and the payload of a NaN.
std::string Number(double value, bool is_single) {
  if (std::isnan(value)) return "nan";
  char text[40];
  const auto end = is_single ? std::to_chars(text, text + sizeof text, static_cast<float>(value))
                             : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

std::string Hex(uint64_t bits, int digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "0x";
  for (int i = digits - 1; i >= 0; --i) out += kDigits[bits >> (4 * i) & 15];
  return out;
}

std::string Narrow(uint64_t bits, std::string_view type) {
  const auto half = static_cast<uint16_t>(bits);
  return Number(type.starts_with("bf16") ? Bf16ToFloat(half) : HalfToFloat(half), true);
}

int64_t Signed(uint64_t bits, uint8_t bytes) {
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  return static_cast<int64_t>((bits ^ sign) - sign);
}

std::string Sources(const BlockTrace& trace, const ThreadTrace& thread, const TracedStep& step,
                    bool written) {
  const TracedInstruction& in = trace.instructions[step.instruction];
  const auto values = trace.ValuesOf(thread, step);
  std::string out;
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const TracedOperand& operand = in.operands[i];
    if (operand.written != written || operand.kind == TracedOperand::Kind::kConstant) continue;
    if (!out.empty()) out += ", ";
    out += operand.name + " = " + ValueText(values[i].bits, operand.bytes, in.type);
  }
  return out;
}

}  // namespace

std::string_view NameOf(TracedSpace space) {
  static constexpr std::string_view kNames[] = {"argument", "variable", "shared memory",
                                                "local memory", "parameters"};
  return kNames[static_cast<size_t>(space)];
}

std::string ValueText(uint64_t bits, uint8_t bytes, std::string_view type) {
  if (bytes == 0) return bits != 0 ? "true" : "false";
  if (bytes > 8) return Hex(bits, 16) + " (its lower half)";
  const std::string hex = Hex(bits, 2 * bytes);
  if (type == "f32" && bytes == 4) {
    return Number(std::bit_cast<float>(static_cast<uint32_t>(bits)), true) + " (" + hex + ")";
  }
  if (type == "f64" && bytes == 8)
    return Number(std::bit_cast<double>(bits), false) + " (" + hex + ")";
  if ((type == "f16" || type == "bf16") && bytes == 2) return Narrow(bits, type) + " (" + hex + ")";
  if ((type == "f16x2" || type == "bf16x2") && bytes == 4) {
    return "{" + Narrow(bits, type) + ", " + Narrow(bits >> 16, type) + "} (" + hex + ")";
  }
  if (type == "f32x2" && bytes == 8) {
    return "{" + Number(std::bit_cast<float>(static_cast<uint32_t>(bits)), true) + ", " +
           Number(std::bit_cast<float>(static_cast<uint32_t>(bits >> 32)), true) + "} (" + hex +
           ")";
  }
  // Registers of bits often hold an f32; the numbers of a program are seldom as large as one is as
  // an integer.
  if (type == "b32" && bytes == 4 && (bits & 0x7fffffff) >= 0x00800000 &&
      (bits & 0x7fffffff) < 0x7f800000 && Signed(bits, 4) != -1) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (value > -1e9f && value < 1e9f && (value > 1e-9f || value < -1e-9f)) {
      return hex + " (" + Number(value, true) + ")";
    }
  }
  return std::to_string(Signed(bits, bytes)) + " (" + hex + ")";
}

std::string StepText(const BlockTrace& trace, const ThreadTrace& thread, const TracedStep& step) {
  if (step.skipped) {
    // The guard is the last operand.
    const TracedOperand& guard = trace.instructions[step.instruction].operands.back();
    return "not done: " + guard.name + " = " +
           ValueText(trace.ValuesOf(thread, step).back().bits, 0, {});
  }
  std::string out = Sources(trace, thread, step, true);
  const std::string read = Sources(trace, thread, step, false);
  if (!read.empty()) out += (out.empty() ? "" : "; ") + std::string("from ") + read;
  for (const TracedAccess& access : thread.AccessesOf(step)) {
    out += out.empty() ? "" : "; ";
    out += access.writes ? "writes " : "reads ";
    out += Counted(access.bytes, "byte") + " of " + std::string(NameOf(access.space));
    if (access.space == TracedSpace::kArgument || access.space == TracedSpace::kVariable) {
      out += " " + std::to_string(access.number);
    }
    out += " at " + std::to_string(access.offset);
    if (access.held < access.bytes) out += ", beyond its end";
    if (access.from.thread >= 0 && access.from.thread != static_cast<int32_t>(thread.thread)) {
      out += ", written by thread " + std::to_string(access.from.thread);
    }
  }
  if (trace.instructions[step.instruction].opcode == "shfl") {
    const StepRef& from = trace.ValuesOf(thread, step)[0].from;
    out += " of thread " + std::to_string(from.thread);
  }
  return out;
}

}  // namespace hloscope::ptx
