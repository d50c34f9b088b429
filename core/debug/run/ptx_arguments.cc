#include "core/debug/run/ptx_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <utility>

#include "core/base/counted.h"
#include "core/base/file.h"
#include "core/dump/tensors/named_values.h"
#include "core/dump/tensors/npy.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/float_types.h"

namespace hloscope::debug {
namespace {

using hlo::ElementType;

constexpr std::string_view kArgumentForms =
    "an argument is IN.npy, out:f32[4,8], out:f32[4,8]=OUT.npy, inout:F.npy, inout:F.npy=OUT.npy "
    "or a number such as u32:5 or f32:0.5; bf16:IN.npy names a type that numpy does not";

std::unexpected<Error> RefusedArgument(const std::string& text, const std::string& why) {
  return InputError(fmt::format("--args {}: {}", text, why), std::string(kArgumentForms));
}

// "f32[4,8]"; "f32[]" and "f32" are one element.
Result<hlo::Shape> ArgumentShape(const std::string& whole, std::string_view text) {
  const size_t open = text.find('[');
  const ElementType type = hlo::ElementTypeFromText(text.substr(0, open));
  if (!hlo::IsArrayType(type) || hlo::BitWidth(type) % 8 != 0)
    return RefusedArgument(whole,
                           fmt::format("{} is not a type of whole bytes", text.substr(0, open)));
  std::vector<int64_t> sizes;
  if (open != std::string_view::npos) {
    if (!text.ends_with(']')) return RefusedArgument(whole, "the sizes of a shape end with ]");
    std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    while (!inside.empty()) {
      const std::string_view one = inside.substr(0, inside.find(','));
      int64_t size = -1;
      const auto read = std::from_chars(one.data(), one.data() + one.size(), size);
      if (read.ec != std::errc() || read.ptr != one.data() + one.size() || size < 0)
        return RefusedArgument(whole, fmt::format("{} is not a size", one));
      sizes.push_back(size);
      inside.remove_prefix(std::min(one.size() + 1, inside.size()));
    }
  }
  return hlo::Shape::Array(type, std::move(sizes));
}

// `type` where numpy does not name it; kInvalid: what the file says.
Status TakeArrayFile(PtxArgument& argument, const std::string& path, ElementType type,
                     const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  hlo::Literal value;
  if (type == ElementType::kInvalid) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto values, dump::NamedValuesIn(file, limits));
    if (!values || values->size() != 1) return InputError(path + ": not a .npy array");
    value = values->front().value;
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(const dump::NpyArray array,
                              dump::ReadNpy(file.bytes(), path, limits));
    HLOSCOPE_ASSIGN_OR_RETURN(
        value, dump::LiteralFromNpy(array, hlo::Shape::Array(type, array.dimensions), path));
  }
  if (hlo::BitWidth(value.shape().element_type()) % 8 != 0) {
    return InputError(fmt::format("{}: arrays of {} are not taken", path,
                                  hlo::ToString(value.shape().element_type())),
                      "save it as a type of whole bytes");
  }
  argument.shape = value.shape();
  argument.memory.assign(value.bytes().begin(), value.bytes().end());
  return {};
}

// The type in front of "bf16:IN.npy", which is taken off; kInvalid: there is none.
ElementType TakeTypeOff(std::string& path) {
  const size_t colon = path.find(':');
  if (colon == std::string::npos) return ElementType::kInvalid;
  const ElementType type = hlo::ElementTypeFromText(path.substr(0, colon));
  if (!hlo::IsArrayType(type)) return ElementType::kInvalid;
  path.erase(0, colon + 1);
  return type;
}

template <typename T>
bool ReadWholeNumber(std::string_view text, T& value) {
  int base = 10;
  if constexpr (std::integral<T>) {
    if (text.starts_with("0x")) {
      base = 16;
      text.remove_prefix(2);
    }
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
  } else {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
  }
}

// Bits of a type of PTX: "u32", "s64", "b16", "f32".
Status TakeNumberText(PtxArgument& argument, std::string_view type_text, std::string_view text) {
  const bool is_bits = type_text.starts_with('b') && !type_text.starts_with("bf");
  const ElementType type = hlo::ElementTypeFromText(is_bits ? "u" + std::string(type_text.substr(1))
                                                            : std::string(type_text));
  const int bits = hlo::IsArrayType(type) ? hlo::BitWidth(type) : 0;
  const bool is_number = hlo::IsInteger(type) || hlo::IsFloat(type);
  if (!is_number || bits % 8 != 0 || bits == 0)
    return RefusedArgument(argument.text, fmt::format("{} is not a type of a number", type_text));
  argument.kind = PtxArgument::Kind::kNumber;
  argument.memory.resize(static_cast<size_t>(bits / 8));
  if (hlo::IsFloat(type)) {
    double value = 0;
    if (!ReadWholeNumber(text, value))
      return RefusedArgument(argument.text, fmt::format("{} is not a number", text));
    if (bits == 64) {
      std::memcpy(argument.memory.data(), &value, 8);
    } else {
      hlo::EncodeFloats(type, std::span(&std::as_const(value), 1), argument.memory);
      double stored = 0;
      hlo::DecodeFloats(type, argument.memory, std::span(&stored, 1));
      if (std::isfinite(value) && !std::isfinite(stored))
        return RefusedArgument(argument.text,
                               fmt::format("{} does not fit into {}", text, type_text));
    }
    return {};
  }
  uint64_t number = 0;
  int64_t negative = 0;
  const bool is_signed = hlo::IsSigned(type) || is_bits;
  const bool below_zero = text.starts_with('-');
  if (below_zero ? !is_signed || !ReadWholeNumber(text, negative) : !ReadWholeNumber(text, number))
    return RefusedArgument(argument.text, fmt::format("{} is not a number of {}", text, type_text));
  const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t largest = hlo::IsSigned(type) ? most >> 1 : most;
  const int64_t least = -static_cast<int64_t>((most >> 1)) - 1;
  if (below_zero ? negative < least : number > largest)
    return RefusedArgument(argument.text, fmt::format("{} does not fit into {}", text, type_text));
  if (below_zero) number = static_cast<uint64_t>(negative);
  std::memcpy(argument.memory.data(), &number, argument.memory.size());
  return {};
}

std::string ParametersText(const ptx::EntryInfo& entry) {
  std::string text;
  for (const ptx::EntryParameter& parameter : entry.parameters) {
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", parameter.name,
                    parameter.is_pointer ? "a pointer" : fmt::format("{} bytes", parameter.bytes));
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Result<PtxArgument> ReadPtxArgument(const std::string& text, const Limits& limits) {
  PtxArgument argument;
  argument.text = text;
  const size_t colon = text.find(':');
  const std::string_view before = std::string_view(text).substr(0, colon);
  if (colon == std::string::npos ||
      (before != "out" && before != "inout" && text.ends_with(".npy"))) {
    if (!text.ends_with(".npy"))
      return RefusedArgument(text, "it is neither an array nor a number");
    std::string path = text;
    const ElementType type = TakeTypeOff(path);
    HLOSCOPE_TRY(TakeArrayFile(argument, path, type, limits));
    return argument;
  }
  std::string rest = text.substr(colon + 1);
  if (before != "out" && before != "inout") {
    HLOSCOPE_TRY(TakeNumberText(argument, before, rest));
    return argument;
  }
  if (const size_t equals = rest.find('='); equals != std::string::npos) {
    argument.file = rest.substr(equals + 1);
    rest.resize(equals);
    if (!argument.file.ends_with(".npy"))
      return RefusedArgument(text, "a result is written as .npy");
  }
  if (before == "inout") {
    argument.kind = PtxArgument::Kind::kInOut;
    const ElementType type = TakeTypeOff(rest);
    HLOSCOPE_TRY(TakeArrayFile(argument, rest, type, limits));
    return argument;
  }
  argument.kind = PtxArgument::Kind::kOut;
  HLOSCOPE_ASSIGN_OR_RETURN(argument.shape, ArgumentShape(text, rest));
  const auto bytes = argument.shape.ByteSize();
  if (!bytes || *bytes > (int64_t{1} << 35)) return RefusedArgument(text, "it is too large");
  argument.memory.assign(static_cast<size_t>(*bytes), std::byte{0xff});
  return argument;
}

Status CheckPtxArguments(const ptx::EntryInfo& entry, const std::vector<PtxArgument>& arguments) {
  if (arguments.size() != entry.parameters.size()) {
    return InputError(fmt::format("{} takes {}, --args has {}", entry.name,
                                  Counted(entry.parameters.size(), "argument"), arguments.size()),
                      "its parameters: " + ParametersText(entry));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ptx::EntryParameter& parameter = entry.parameters[i];
    const bool is_number = arguments[i].kind == PtxArgument::Kind::kNumber;
    const uint64_t given = is_number ? arguments[i].memory.size() : sizeof(uint64_t);
    if (given == parameter.bytes) continue;
    return InputError(
        fmt::format("--args {}: {}, parameter {} of {} has {}", arguments[i].text,
                    Counted(given, "byte"), parameter.name, entry.name, parameter.bytes),
        parameter.bytes == ptx::kTensorMapBytes
            ? "tensor maps are made by programs only; run its dump"
            : "its parameters: " + ParametersText(entry));
  }
  return {};
}

}  // namespace hloscope::debug
