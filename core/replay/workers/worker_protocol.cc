// Values as fields and data, both ways.
#include "core/replay/workers/worker_protocol.h"

#include <fmt/format.h>

#include "core/hlo/module_archive.h"
#include "core/hlo/module_image.h"

namespace hloscope::replay {
namespace {

using eval::Value;
using hlo::Literal;
using hlo::Shape;

constexpr std::string_view kStageTexts[] = {"start",   "between jobs", "load",     "verify",
                                            "compile", "run",          "read back"};

enum class Form : uint8_t { kNone, kArray, kTuple, kToken, kElided, kMissing };

Form FormOf(const Literal& literal) {
  const Shape& shape = literal.shape();
  if (shape.IsToken()) return Form::kToken;
  if (literal.elided() && !shape.IsTuple()) return Form::kElided;
  if (shape.IsTuple()) return Form::kTuple;
  return shape.IsArray() ? Form::kArray : Form::kNone;
}

Form FormOf(const Value& value) {
  if (value.is_missing()) return Form::kMissing;
  if (value.is_tuple()) return Form::kTuple;
  return value.is_array() ? Form::kArray : Form::kNone;
}

bool SizesFit(const std::vector<int64_t>& sizes, const Shape& shape) {
  if (sizes.empty()) return true;
  if (sizes.size() != shape.rank()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > shape.dimension(i)) return false;
  }
  return true;
}

}  // namespace

std::string_view ToString(WorkerStage stage) {
  const auto number = static_cast<size_t>(stage);
  return number < std::size(kStageTexts) ? kStageTexts[number] : "an unknown stage";
}

std::string ProtocolText() {
  return fmt::format("hloscope worker 1: {} {} {} {} {} {} {} {}", sizeof(hlo::Instruction),
                     sizeof(hlo::Computation), sizeof(hlo::OpMetadata), sizeof(hlo::Attribute),
                     sizeof(Limits), sizeof(RunResult), hlo::kOpcodeCount, hlo::kAttributeKeyCount);
}

void ValueWriter::PutData(std::span<const std::byte> bytes) { frame_.parts.push_back(bytes); }

void ValueWriter::PutError(const Error& error) {
  Put(error.error_class, error.message, error.hint);
  Put(error.place.file, error.place.line, error.place.column);
}

// Literals nest no deeper than the limit their shapes were read with.
void ValueWriter::PutLiteral(const Literal& literal) {
  const Form form = FormOf(literal);
  Put(form);
  if (form == Form::kTuple) {
    Put(uint64_t{literal.elements().size()});
    for (const Literal& element : literal.elements()) PutLiteral(element);
  } else if (form == Form::kArray || form == Form::kElided) {
    const auto sizes = literal.dynamic_sizes();
    Put(literal.shape(), std::vector<int64_t>(sizes.begin(), sizes.end()));
    if (form == Form::kArray) PutData(literal.bytes());
  }
}

void ValueWriter::PutValue(const Value& value) {
  const Form form = FormOf(value);
  Put(form);
  if (form == Form::kMissing) PutError(value.error());
  if (form == Form::kArray) PutLiteral(value.literal());
  if (form != Form::kTuple) return;
  Put(uint64_t{value.elements().size()});
  for (const Value& element : value.elements()) PutValue(element);
}

void ValueWriter::PutResult(const Result<Literal>& value) {
  Put(value.has_value());
  value.has_value() ? PutLiteral(*value) : PutError(value.error());
}

const OutgoingFrame& ValueWriter::Finish() {
  frame_.head = std::move(head_).Take();
  return frame_;
}

std::span<const std::byte> ValueReader::GetData(uint64_t size) {
  if (size > left_.size()) return Fail(), std::span<const std::byte>();
  const auto bytes = left_.first(static_cast<size_t>(size));
  left_ = left_.subspan(std::min(left_.size(), AlignedUp(bytes.size())));
  return bytes;
}

Error ValueReader::GetError() {
  Error error;
  error.error_class = Get<ErrorClass>();
  error.message = Get<std::string>();
  error.hint = Get<std::string>();
  error.place.file = Get<std::string>();
  error.place.line = Get<uint32_t>();
  error.place.column = Get<uint32_t>();
  if (error.error_class > ErrorClass::kInternal) Fail();
  return error;
}

Literal ValueReader::GetArray() {
  const auto shape = Get<Shape>();
  auto sizes = Get<std::vector<int64_t>>();
  const auto size = shape.ByteSize();
  if (!ok() || !shape.IsArray() || !size || !SizesFit(sizes, shape)) return Fail(), Literal();
  const auto bytes = GetData(static_cast<uint64_t>(*size));
  if (!ok()) return {};
  Literal literal = Literal::View(shape, bytes, data_.owner);
  literal.set_dynamic_sizes(std::move(sizes));
  return literal;
}

Literal ValueReader::GetLiteral() {
  if (!head_.Enter()) return {};
  Literal literal;
  switch (Get<Form>()) {
    case Form::kNone:
      break;
    case Form::kArray:
      literal = GetArray();
      break;
    case Form::kTuple: {
      std::vector<Literal> elements;
      for (auto left = Get<uint64_t>(); left > 0 && ok(); --left) elements.push_back(GetLiteral());
      literal = Literal::Tuple(std::move(elements));
      break;
    }
    case Form::kToken:
      literal = Literal::Token();
      break;
    case Form::kElided:
      literal = Literal::Elided(Get<Shape>());
      (void)Get<std::vector<int64_t>>();
      break;
    default:
      Fail();
  }
  head_.Leave();
  return literal;
}

Value ValueReader::GetValue() {
  if (!head_.Enter()) return {};
  Value value;
  switch (Get<Form>()) {
    case Form::kNone:
      break;
    case Form::kArray: {
      Literal literal = GetLiteral();
      if (!literal.shape().IsArray() && !literal.shape().IsToken()) Fail();
      value = Value::Array(std::move(literal));
      break;
    }
    case Form::kMissing:
      value = Value::Missing(GetError());
      break;
    case Form::kTuple: {
      std::vector<Value> elements;
      for (auto left = Get<uint64_t>(); left > 0 && ok(); --left) elements.push_back(GetValue());
      value = Value::Tuple(std::move(elements));
      break;
    }
    default:
      Fail();
  }
  head_.Leave();
  return value;
}

Result<Literal> ValueReader::GetResult() {
  if (Get<bool>()) return GetLiteral();
  return std::unexpected(GetError());
}

void ValueWriter::PutKey(const ValueKey& key) {
  Put(key.stage, key.device, key.instruction, key.leaf, uint64_t{key.path.size()});
  for (const eval::Frame& frame : key.path) Put(frame.caller, frame.iteration);
}

ValueKey ValueReader::GetKey() {
  ValueKey key;
  key.stage = Get<uint64_t>();
  key.device = Get<int64_t>();
  key.instruction = Get<hlo::InstructionId>();
  key.leaf = Get<int64_t>();
  for (auto left = Get<uint64_t>(); left > 0 && ok(); --left) {
    eval::Frame& frame = key.path.emplace_back();
    frame.caller = Get<hlo::InstructionId>();
    frame.iteration = Get<int64_t>();
  }
  return key;
}

}  // namespace hloscope::replay
