// Instructions of equal meaning are compared in what their meaning leaves out.
#include "core/analysis/align/metadata_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/analysis/align/change_text.h"
#include "core/analysis/align/compare_modules.h"
#include "core/base/counted.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using Fields = std::vector<std::pair<std::string, std::string>>;

void AddMetadata(const Module& m, InstructionId id, const hlo::OpMetadata& metadata, Fields& out) {
  const auto text = [&](const char* name, hlo::StringId value) {
    if (value.valid() && !m[value].empty()) out.emplace_back(name, m[value]);
  };
  const auto number = [&](const char* name, int64_t value) {
    if (value != 0) out.emplace_back(name, std::to_string(value));
  };
  text("op_type", metadata.op_type);
  text("op_name", metadata.op_name);
  text("source_file", metadata.source_file);
  number("source_line", metadata.source_line);
  number("source_end_line", metadata.source_end_line);
  number("source_column", metadata.source_column);
  number("source_end_column", metadata.source_end_column);
  text("deduplicated_name", metadata.deduplicated_name);
  text("scheduling_name", metadata.scheduling_name);
  text("profile_type", metadata.profile_type);
  text("metadata_payload", metadata.metadata_payload);
  text("unknown metadata", metadata.unknown);
  number("preserve_layout", metadata.preserve_layout ? 1 : 0);
  // The frames' numbers differ where other frames are in the module.
  if (metadata.stack_frame_id == 0) return;
  std::string frames;
  for (const hlo::SourceLine& frame : hlo::SourceFramesOf(m, id))
    frames += (frames.empty() ? "" : " < ") + hlo::ToString(frame);
  if (!frames.empty()) out.emplace_back("stack frames", frames);
}

// The first field that differs; `lossy`: of those that both have.
std::string FieldChange(const Fields& a, const Fields& b, bool lossy) {
  const auto value = [](const Fields& fields, const std::string& name) {
    const auto at = std::ranges::find(fields, name, &Fields::value_type::first);
    return at == fields.end() ? std::string() : at->second;
  };
  for (const Fields* side : {&a, &b}) {
    for (const auto& [name, text] : *side) {
      const std::string x = value(a, name), y = value(b, name);
      if (lossy && (x.empty() || y.empty() || name == "scheduling_name")) continue;
      if (x != y) return fmt::format("{}: {}", name, BecameText(x, y));
    }
  }
  return {};
}

// How many differ, and the first of them.
struct Differences {
  int64_t count = 0;
  std::string first;
  void Add(const auto& text) {
    if (++count == 1) first = text();
  }
};

class MetadataComparer {
 public:
  MetadataComparer(const Module& a, const Module& b)
      : a_(a), b_(b), lossy_(IsText(a) != IsText(b)) {}

  std::string Run() {
    if (a_.name() != b_.name()) names_.push_back("module " + BecameText(a_.name(), b_.name()));
    auto pairs = EqualInstructions(a_, b_);
    std::ranges::sort(pairs);
    Differences computations, instructions, metadata;
    std::set<hlo::ComputationId> seen;
    InstructionId last_a, last_b;
    bool is_reordered = false;
    for (const auto& [x, y] : pairs) {
      const hlo::ComputationId in_a = a_[x].computation, in_b = b_[y].computation;
      if (lossy_ && a_[x].opcode == hlo::Opcode::kGetTupleElement) continue;
      if (seen.insert(in_a).second && Name(a_, in_a) != Name(b_, in_b))
        computations.Add([&] { return BecameText(Name(a_, in_a), Name(b_, in_b)); });
      if (a_.name(x) != b_.name(y))
        instructions.Add([&] { return BecameText(a_.name(x), b_.name(y)) + In(in_a); });
      const std::string change = MetadataChange(x, y);
      if (!change.empty())
        metadata.Add([&] { return fmt::format("{}{}: {}", a_.name(x), In(in_a), change); });
      is_reordered |= last_a.valid() && a_[last_a].computation == in_a && y < last_b;
      last_a = x;
      last_b = y;
    }
    AddNames(computations, "computation");
    AddNames(instructions, "instruction");
    std::string out = Text(metadata);
    for (const std::string& name : names_) out += (out.empty() ? "" : "; ") + name;
    is_reordered &= !lossy_ && a_.header().is_scheduled && b_.header().is_scheduled;
    if (out.empty() && is_reordered) out = "the order of instructions differs";
    return out;
  }

 private:
  static bool IsText(const Module& m) { return m.proto_instruction_ids().empty(); }
  static std::string_view Name(const Module& m, hlo::ComputationId id) { return m[m[id].name]; }
  std::string In(hlo::ComputationId id) const { return fmt::format(" in {}", Name(a_, id)); }

  std::string MetadataChange(InstructionId x, InstructionId y) const {
    if (a_[x].attribute_count == 0 && b_[y].attribute_count == 0) return {};
    return FieldChange(MetadataFields(a_, x), MetadataFields(b_, y), lossy_);
  }

  static std::string Text(const Differences& metadata) {
    if (metadata.count == 0) return {};
    return fmt::format("metadata of {} differs, first {}", Counted(metadata.count, "instruction"),
                       metadata.first);
  }
  void AddNames(const Differences& names, const char* what) {
    if (names.count == 0) return;
    names_.push_back(names.count == 1 ? fmt::format("name of {} {}", what, names.first)
                                      : fmt::format("names of {}, first {}",
                                                    Counted(names.count, what), names.first));
  }

  const Module &a_, &b_;
  // A text lacks names and metadata of get-tuple-elements, and may lack stack frames, that the
  // proto has; inside an asynchronous computation it has the scheduling name of the call, and its
  // instructions may be in another order.
  bool lossy_;
  std::vector<std::string> names_;
};

}  // namespace

Fields MetadataFields(const Module& module, InstructionId instruction) {
  Fields out;
  const hlo::Instruction& i = module[instruction];
  if (const auto* metadata = module.Get<hlo::OpMetadata>(i, AttributeKey::kMetadata))
    AddMetadata(module, instruction, *metadata, out);
  for (const AttributeKey key : {AttributeKey::kStatistics, AttributeKey::kOrigin}) {
    const hlo::Attribute* const attribute = module.Find(i, key);
    if (attribute == nullptr) continue;
    hlo::InstructionPrinter printer(module, hlo::TextFormat::kHlo);
    out.emplace_back(hlo::Info(key).text, printer.ValueText(i, *attribute));
  }
  return out;
}

std::string MetadataDifference(const Module& a, const Module& b) {
  return MetadataComparer(a, b).Run();
}

}  // namespace hloscope::analysis
