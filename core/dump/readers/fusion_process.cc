// The text form of xla.gpu.FusionProcessDumpProto.
#include "core/dump/readers/fusion_process.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "core/dump/readers/text_proto.h"

namespace hloscope::dump {
namespace {

using Field = TextProto::Field;
using Message = TextProto::Message;

std::optional<FusionStep> StepOf(const Message& message) {
  std::optional<FusionStep> out;
  message.Each([&](const Field& field, const Message& step) {
    if (!field.is_message) return;
    FusionStep read;
    read.producer = step.Text("producer_name");
    if (field.name == "fusion") {
      read.kind = FusionStep::Kind::kFusion;
      read.consumer = step.Text("consumer_name");
      read.fusion = step.Text("fusion_name");
    } else if (field.name == "producer_ineligible") {
      read.kind = FusionStep::Kind::kIneligible;
      read.reason = step.Text("reason");
    } else if (field.name == "update_priority") {
      read.kind = FusionStep::Kind::kPriority;
      read.us_fused = step.Float("us_fused").value_or(0);
      read.us_unfused = step.Float("us_unfused").value_or(0);
      step.Each([&](const Field& inner, const Message&) {
        if (inner.name == "consumer_names") read.consumers.push_back(TextProto::Decode(inner.raw));
      });
    } else {
      return;
    }
    out = std::move(read);
  });
  return out;
}

// Fields by their path; of repeated ones "rate_infos[3]".
void AddFields(const Message& message, const std::string& prefix,
               std::vector<std::pair<std::string, std::string>>& out) {
  std::map<std::string_view, size_t> count, met;
  message.Each([&](const Field& field, const Message&) { ++count[field.name]; });
  message.Each([&](const Field& field, const Message& inner) {
    std::string name = prefix + std::string(field.name);
    if (count[field.name] > 1) name += fmt::format("[{}]", met[field.name]++);
    field.is_message ? AddFields(inner, name + ".", out)
                     : static_cast<void>(out.emplace_back(name, std::string(field.raw)));
  });
}

}  // namespace

FusionProcess ReadFusionProcess(std::string_view text) {
  FusionProcess out;
  const TextProto proto(text);
  proto.root().Each([&](const Field& field, const Message& message) {
    if (field.name == "fusion_steps") {
      if (auto step = StepOf(message)) out.steps.push_back(*std::move(step));
    } else if (field.name == "hlo_module_before_fusion") {
      out.module_before = TextProto::Decode(field.raw);
    } else if (field.name == "gpu_device_info") {
      AddFields(message, "", out.device);
    }
  });
  if (!proto.why().empty())
    out.why = "line " + std::to_string(proto.why_line()) + ": " + proto.why();
  return out;
}

}  // namespace hloscope::dump
