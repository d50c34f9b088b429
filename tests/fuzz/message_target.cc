// A message as the input of a target: its kind, the length of its fields in four bytes, the fields,
// and the data.
#include "tests/fuzz/message_target.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/sealed_memory.h"
#include "core/replay/workers/worker_protocol.h"

namespace hloscope::fuzz {
namespace {

using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;
using replay::RunEvent;
using replay::RunOptions;
using replay::ValueKey;
using replay::ValueReader;
using replay::ValueWriter;

enum class Content : uint8_t { kOptions, kEvent, kValue, kResult, kError };
constexpr size_t kContents = 5;
constexpr size_t kHeadBytes = 1 + sizeof(uint32_t);
constexpr int64_t kMaxElements = 512;

Literal ArrayOf(std::string_view file) {
  const auto count = std::min<int64_t>(static_cast<int64_t>(file.size()), kMaxElements);
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  return Literal::Of<uint8_t>(Shape::Array(ElementType::kU8, {count}),
                              std::span(bytes, static_cast<size_t>(count)));
}

// One of each alternative, `number` chooses.
RunEvent EventAbout(std::string_view file, size_t number) {
  const ValueKey key{.stage = file.size(),
                     .device = 1,
                     .path = {},
                     .instruction = hlo::InstructionId(7u),
                     .leaf = 2};
  const std::string text(file.substr(0, 40));
  switch (number % 13) {
    case 0:
      return replay::LeafResult{.device = 0, .leaf = 1, .value = ArrayOf(file)};
    case 1:
      return replay::CapturedValue{key, ArrayOf(file)};
    case 2:
      return replay::CapturedValue{key, replay::ValueStatistics{.elements = 5, .low = -1.5}};
    case 3:
      return replay::SearchFinding{text, text, {runtime::Value::FromLiteral(ArrayOf(file))}};
    case 4:
      return replay::RunWarning{text};
    case 5:
      return replay::RunFallback{
          .instruction = text, .opcode = "dot", .reason = "", .detail = text};
    case 6:
      return replay::TraceSlice{.name = text, .lane = "thread", .start_ns = 1, .duration_ns = 12};
    case 7:
      return replay::TraceSteps{
          .device = 1,
          .steps = {.paths = {{}, {0, hlo::InstructionId(7u), 3}},
                    .steps = {{hlo::InstructionId(5u), 1, 10, 20}, {hlo::InstructionId(), 0, 1, 2}},
                    .sums = {{0, 100, 18, 1, 2}},
                    .live = {{12, 4096}}},
          .kernels = {{.name = text, .file = text, .blocks = {3, 1, 1}, .threads = {32, 1, 1}}},
          .launches = {{.step = 0, .model_us = 0.5, .figures = {.warp_instructions = 7}}}};
    case 8:
      return replay::TraceSamples{.name = text, .unit = "bytes", .samples = {{3, 0.5}}};
    case 9:
      return replay::TraceFile{.bytes = text};
    case 10:
      return replay::RunProgress{.what = text, .done = 3, .total = 9};
    case 11:
      return replay::RunExecuted{.kernels = 3,
                                 .evaluated = 1,
                                 .evaluated_ops = {{text, 1, "unsupported opcode"}},
                                 .choices = {{"dot", text, text, 2}}};
    default:
      return replay::RunFault{key, InputError(text, "none").error()};
  }
}

RunOptions OptionsAbout(std::string_view file) {
  RunOptions options;
  options.platform.xla_flags = {{"xla_flag", std::string(file.substr(0, 40))}};
  options.capture.items = {{.form = replay::CaptureForm::kHash,
                            .instructions = {hlo::InstructionId(1u), hlo::InstructionId(5u)}}};
  options.capture.search = {"first nonfinite", std::string(file.substr(0, 40))};
  options.capture.until = {.instruction = hlo::InstructionId(3u), .execution = 2};
  return options;
}

}  // namespace

std::string MessageSeed(std::string_view file) {
  const size_t number = file.size();
  const auto content = static_cast<Content>(number % kContents);
  const Literal array = ArrayOf(file);
  const RunEvent event = EventAbout(file, number / kContents);
  ValueWriter out(replay::FrameKind::kEvent);
  switch (content) {
    case Content::kOptions:
      PutOptions(out, OptionsAbout(file));
      break;
    case Content::kEvent:
      PutEvent(out, event);
      break;
    case Content::kValue:
      out.PutValue(runtime::Value::FromLiteral(array));
      break;
    case Content::kResult:
      out.PutResult(array);
      break;
    case Content::kError:
      out.PutError(InputError(std::string(file.substr(0, 100)), "none").error());
  }
  const OutgoingFrame& frame = out.Finish();
  std::string message(1, static_cast<char>(content));
  const auto head = static_cast<uint32_t>(frame.head.size());
  message.append(reinterpret_cast<const char*>(&head), sizeof(head)).append(frame.head);
  const size_t data = message.size();
  for (const std::span<const std::byte> part : frame.parts) {
    message.resize(data + AlignedUp(message.size() - data));
    message.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return message;
}

void FuzzMessage(std::string_view input) {
  if (input.size() < kHeadBytes) return;
  uint32_t head = 0;
  std::memcpy(&head, input.data() + 1, sizeof(head));
  const std::string_view rest = input.substr(kHeadBytes);
  const size_t fields = std::min<size_t>(head, rest.size());
  const size_t size = rest.size() - fields;
  const std::shared_ptr<std::byte> data(
      static_cast<std::byte*>(std::aligned_alloc(kPartAlignment, AlignedUp(size + 1))), std::free);
  std::memcpy(data.get(), rest.data() + fields, size);
  const Frame frame{
      .kind = 0, .head = std::string(rest.substr(0, fields)), .data = {{data.get(), size}, data}};
  ValueReader in(frame);
  switch (static_cast<Content>(static_cast<uint8_t>(input[0]) % kContents)) {
    case Content::kOptions:
      (void)GetOptions(in);
      return;
    case Content::kEvent:
      if (const auto event = replay::GetEvent(in); event) {
        // What was read can be sent on.
        ValueWriter out(replay::FrameKind::kEvent);
        PutEvent(out, *event);
        (void)out.Finish();
      }
      return;
    case Content::kValue:
      (void)in.GetValue();
      return;
    case Content::kResult:
      (void)in.GetResult();
      return;
    case Content::kError:
      (void)in.GetError();
  }
}

}  // namespace hloscope::fuzz
