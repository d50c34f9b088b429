// Values as fields and data, both ways.
#include "core/replay/workers/worker_protocol.h"

#include <fmt/format.h>

#include "core/hlo/module_archive.h"
#include "core/hlo/module_image.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using runtime::Value;

constexpr std::string_view kStageTexts[] = {"start",   "between jobs", "load",     "verify",
                                            "compile", "run",          "read back"};

enum class Form : uint8_t { kNone, kArray, kTuple, kMissing };

Form FormOf(const Value& value) {
  if (value.is_missing()) return Form::kMissing;
  if (value.is_tuple()) return Form::kTuple;
  return value.is_array() ? Form::kArray : Form::kNone;
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

void ValueWriter::PutLiteral(const Literal& literal) {
  hlo::WriteLiteral(head_, literal, [this](std::span<const std::byte> bytes) { PutData(bytes); });
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

void ValueWriter::One(const std::vector<Value>& values) {
  Put(uint64_t{values.size()});
  for (const Value& value : values) PutValue(value);
}

void ValueWriter::One(const std::shared_ptr<const hlo::Module>& module) {
  Put(module != nullptr);
  if (module != nullptr) Put(hlo::ModuleToImage(*module));
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

void ValueReader::One(std::vector<Value>& values) {
  for (auto left = Get<uint64_t>(); left > 0 && ok(); --left) values.push_back(GetValue());
}

void ValueReader::One(std::shared_ptr<const hlo::Module>& module) {
  if (!Get<bool>()) return;
  const auto image = std::make_shared<const std::string>(Get<std::string>());
  auto read = hlo::ModuleFromImage(std::as_bytes(std::span(*image)), image);
  if (!read.has_value()) return Fail();
  module = *std::move(read);
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

Literal ValueReader::GetLiteral() {
  return hlo::ReadLiteral(head_,
                          [this](const hlo::Shape& shape, uint64_t size) -> std::optional<Literal> {
                            const auto bytes = GetData(size);
                            if (!ok()) return std::nullopt;
                            return Literal::View(shape, bytes, data_.owner);
                          });
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
  for (const runtime::Frame& frame : key.path) Put(frame.caller, frame.iteration);
}

ValueKey ValueReader::GetKey() {
  ValueKey key;
  key.stage = Get<uint64_t>();
  key.device = Get<int64_t>();
  key.instruction = Get<hlo::InstructionId>();
  key.leaf = Get<int64_t>();
  for (auto left = Get<uint64_t>(); left > 0 && ok(); --left) {
    runtime::Frame& frame = key.path.emplace_back();
    frame.caller = Get<hlo::InstructionId>();
    frame.iteration = Get<int64_t>();
  }
  return key;
}

}  // namespace hloscope::replay
