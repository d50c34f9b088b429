// Counts first, then the modules that differ, then those that are missing somewhere.
#include "app/reports/dump_comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "app/command.h"
#include "app/reports/choice_differences.h"
#include "app/reports/dump_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using analysis::DumpProgram;
using analysis::ProgramGroup;
using debug::ComparedModule;
using debug::DumpComparison;
using debug::ProgramClass;
using debug::StageDifference;

constexpr size_t kMaxListed = 3;  // dumps or modules of a list in text

// "jit_f"; with its id, folder and time where several modules of its dump have that name.
class ProgramLabels {
 public:
  explicit ProgramLabels(const DumpComparison& comparison) : dumps_(comparison.dumps) {
    counts_.resize(dumps_.size());
    for (size_t d = 0; d < dumps_.size(); ++d) {
      for (const DumpProgram& program : dumps_[d].programs) ++counts_[d][program.name];
    }
  }

  std::string Of(const ProgramGroup& group, size_t dump) const {
    const DumpProgram& program = dumps_[dump].programs[static_cast<size_t>(group.members[dump])];
    if (counts_[dump].at(program.name) == 1) return program.name;
    std::string label =
        program.id < 0 ? program.name : fmt::format("module_{:04}.{}", program.id, program.name);
    if (!program.timestamp.empty()) label = program.timestamp + "." + label;
    return program.folder.empty() ? label : program.folder + "/" + label;
  }
  std::string Of(const ProgramGroup& group) const {
    for (size_t d = 0; d < group.members.size(); ++d) {
      if (group.members[d] >= 0) return Of(group, d);
    }
    return {};
  }
  // " (jit_g in B)" where the second of two dumps has another name; else empty.
  std::string OtherName(const ProgramGroup& group) const {
    if (dumps_.size() != 2 || std::ranges::find(group.members, -1) != group.members.end())
      return {};
    const auto name = [&](size_t d) -> const std::string& {
      return dumps_[d].programs[static_cast<size_t>(group.members[d])].name;
    };
    return name(0) == name(1) ? "" : FormatText(" ({} in {})", name(1), OfDump(1));
  }
  // The last part of the path, or all of it where that is the same for several.
  std::string OfDump(int32_t dump) const {
    const std::string& path = dumps_[static_cast<size_t>(dump)].path;
    const std::string last = LastPart(path);
    const auto same =
        std::ranges::count_if(dumps_, [&](const auto& d) { return LastPart(d.path) == last; });
    return same == 1 ? last : path;
  }
  std::string OfDumps(const std::vector<int32_t>& dumps) const {
    if (dumps.size() > kMaxListed) return FormatText("{}", dumps.size());
    std::string out;
    for (const int32_t d : dumps) out += FormatText("{}{}", (out.empty() ? "" : ", "), OfDump(d));
    return out;
  }

 private:
  static std::string LastPart(const std::string& path) {
    const std::filesystem::path trimmed(path.substr(0, path.find_last_not_of('/') + 1));
    return trimmed.filename().string();
  }

  const std::vector<analysis::DumpPrograms>& dumps_;
  std::vector<std::map<std::string, int>> counts_;
};

std::vector<int32_t> DumpsWith(const ProgramGroup& group) {
  std::vector<int32_t> dumps;
  for (size_t d = 0; d < group.members.size(); ++d) {
    if (group.members[d] >= 0) dumps.push_back(static_cast<int32_t>(d));
  }
  return dumps;
}

// ", memory 1.0 kB → 2.0 kB (+1.0 kB), 19 → 20 instructions"
std::string GrowthText(const ComparedModule& module) {
  if (module.classes.size() < 2) return {};
  const ProgramClass &a = module.classes[0], &b = module.classes[1];
  std::string out;
  if (a.peak_bytes >= 0 && b.peak_bytes >= 0 && a.peak_bytes != b.peak_bytes) {
    const int64_t more = b.peak_bytes - a.peak_bytes;
    out += FormatText(", memory {} → {} ({}{})", BytesText(a.peak_bytes), BytesText(b.peak_bytes),
                      more > 0 ? "+" : "-", BytesText(std::abs(more)));
  }
  if (a.instructions >= 0 && b.instructions >= 0 && a.instructions != b.instructions)
    out += FormatText(", {} → {}", a.instructions, Counted(b.instructions, "instruction"));
  return out;
}

std::string DifferenceText(const StageDifference& difference, const std::string& dump) {
  std::string out = FormatText("    {}{}\n", dump.empty() ? "" : dump + ": ", ToString(difference));
  if (difference.text_a == difference.text_b) return out;  // lines that do not show it
  if (!difference.text_a.empty()) out += FormatText("      - {}\n", difference.text_a);
  if (!difference.text_b.empty()) out += FormatText("      + {}\n", difference.text_b);
  return out;
}

std::string ComparedModuleText(const ComparedModule& module, const ProgramLabels& labels,
                               size_t dumps) {
  std::string out = "  " + labels.Of(module.group) + labels.OtherName(module.group);
  if (!module.differs) {
    return out + FormatText(": nothing differs, but {} elided and not compared\n",
                            Counted(module.elided, "constant is", "constants are"));
  }
  if (dumps > 2) {
    std::string_view separator = ": ";
    for (const ProgramClass& one : module.classes) {
      out += FormatText("{}{}", separator, labels.OfDumps(one.dumps));
      separator = " + ";
    }
  }
  out += FormatText("{}\n", GrowthText(module));
  for (const ProgramClass& one : module.classes) {
    const std::string dump = dumps > 2 ? labels.OfDump(one.dumps.front()) : "";
    for (const StageDifference& difference : one.differences)
      out += DifferenceText(difference, dump);
  }
  return out;
}

std::string MetadataText(const DumpComparison& comparison, const ProgramLabels& labels,
                         size_t top) {
  std::string out;
  const size_t shown = std::min(top, comparison.metadata.size());
  for (const debug::MetadataChange& change : std::span(comparison.metadata).first(shown)) {
    out += FormatText("  {} is equal{}; {}: {}\n", labels.Of(change.group),
                      comparison.dumps.size() > 2 ? " in " + labels.OfDump(change.dump) : "",
                      change.stage, change.what);
  }
  if (shown < comparison.metadata.size()) {
    out += FormatText("  and {} of other names or metadata (--top)\n",
                      Counted(comparison.metadata.size() - shown, "more module"));
  }
  return out;
}

// A note begins with the path of a file in the dump.
std::string NoteText(const DumpComparison& comparison, const debug::DumpNote& note) {
  return (std::filesystem::path(comparison.dumps[static_cast<size_t>(note.dump)].path) / note.text)
      .string();
}

std::string ComparisonCountsText(const DumpComparison& comparison) {
  const auto differing =
      static_cast<int64_t>(std::ranges::count(comparison.modules, true, &ComparedModule::differs));
  const auto unknown = static_cast<int64_t>(comparison.modules.size()) - differing;
  std::string out = FormatText("{} equal in {} dumps", Counted(comparison.equal, "module"),
                               comparison.dumps.size());
  if (differing > 0)
    out += FormatText(", {} {}", differing, VerbFor(differing, "differs", "differ"));
  if (unknown > 0) out += FormatText(", {} with elided constants", unknown);
  if (!comparison.missing.empty())
    out += FormatText(", {} not in all dumps", comparison.missing.size());
  if (!comparison.metadata.empty())
    out += FormatText("; of the equal, {} in names or metadata only",
                      Counted(comparison.metadata.size(), "differs", "differ"));
  return out + "\n";
}

std::string MissingProgramsText(const DumpComparison& comparison, const ProgramLabels& labels,
                                size_t top) {
  std::string out;
  const size_t shown = std::min(top, comparison.missing.size());
  for (size_t k = 0; k < shown; ++k) {
    const ProgramGroup& group = comparison.missing[k];
    out += FormatText("  {} is only in {}{}\n", labels.Of(group), labels.OfDumps(DumpsWith(group)),
                      DumpsWith(group).size() > kMaxListed ? " dumps" : "");
  }
  if (shown < comparison.missing.size())
    out +=
        FormatText("  and {} (--top)\n", Counted(comparison.missing.size() - shown, "more module"));
  return out;
}

std::string_view ComparisonStatusName(const DumpComparison& comparison) {
  switch (StatusOf(comparison)) {
    case kGood:
      return "equal";
    case kDiffers:
      return "differs";
    case kUnsupported:
      return "unsupported";
    default:
      return "error";
  }
}

void ValueOrNull(JsonWriter& json, int64_t value) { value < 0 ? json.Null() : json.Value(value); }

class DumpComparisonWriter {
 public:
  explicit DumpComparisonWriter(const DumpComparisonReport& report)
      : report_(report), comparison_(report.comparison), labels_(comparison_), json_(out_) {}

  std::string Write() {
    const size_t dumps = comparison_.dumps.size();
    json_.BeginObject().Field("a", comparison_.dumps[0].path);
    json_.Field("b", comparison_.dumps[1].path).Field("status", ComparisonStatusName(comparison_));
    json_.Key("dumps").BeginArray();
    for (const auto& dump : comparison_.dumps) json_.Value(dump.path);
    json_.EndArray().Key("modules").BeginArray();
    for (const ComparedModule& module : comparison_.modules) WriteModule(module);
    json_.EndArray().Field("equal", comparison_.equal).Field("elided", comparison_.elided);
    if (dumps == 2) {
      WriteOnly("only_a", 0);
      WriteOnly("only_b", 1);
    }
    WriteMissing();
    json_.Key("metadata").BeginArray();
    for (const debug::MetadataChange& change : comparison_.metadata) {
      json_.BeginObject().Field("module", labels_.Of(change.group)).Field("dump", change.dump);
      json_.Field("stage", change.stage).Field("what", change.what).EndObject();
    }
    json_.EndArray().Key("notes").BeginArray();
    for (const debug::DumpNote& note : comparison_.notes) json_.Value(NoteText(comparison_, note));
    json_.EndArray();
    if (report_.fusion) WriteFusion(*report_.fusion, json_);
    if (dumps == 2) WriteChoiceDifferences(report_.choices, json_.Key("autotuning"));
    json_.EndObject();
    return out_ + "\n";
  }

 private:
  void WriteModule(const ComparedModule& module) {
    json_.BeginObject().Field("module", labels_.Of(module.group));
    const std::vector<int32_t> dumps = DumpsWith(module.group);
    if (comparison_.dumps.size() == 2)
      json_.Field("module_b", labels_.Of(module.group, static_cast<size_t>(dumps.back())));
    json_.Field("what", DifferencesText(module)).Field("elided", module.elided);
    WriteFigure("instructions", module, &ProgramClass::instructions);
    WriteFigure("peak_bytes", module, &ProgramClass::peak_bytes);
    json_.Key("classes").BeginArray();
    for (const ProgramClass& one : module.classes) {
      json_.BeginObject().Key("dumps").BeginArray();
      for (const int32_t d : one.dumps) json_.Value(d);
      json_.EndArray().Key("fingerprint");
      one.fingerprint.empty() ? json_.Null() : json_.Value(one.fingerprint);
      json_.Key("differences").BeginArray();
      for (const StageDifference& difference : one.differences) {
        json_.BeginObject().Field("stage", difference.stage).Field("what", difference.what);
        json_.Field("a", difference.text_a).Field("b", difference.text_b).EndObject();
      }
      json_.EndArray().EndObject();
    }
    json_.EndArray().EndObject();
  }

  // One for each class.
  void WriteFigure(std::string_view key, const ComparedModule& module,
                   int64_t ProgramClass::* figure) {
    json_.Key(key).BeginArray();
    for (const ProgramClass& one : module.classes) ValueOrNull(json_, one.*figure);
    json_.EndArray();
  }

  void WriteOnly(std::string_view key, size_t dump) {
    json_.Key(key).BeginArray();
    for (const ProgramGroup& group : comparison_.missing) {
      if (group.members[dump] >= 0) json_.Value(labels_.Of(group));
    }
    json_.EndArray();
  }

  void WriteMissing() {
    json_.Key("missing").BeginArray();
    for (const ProgramGroup& group : comparison_.missing) {
      json_.BeginObject().Field("module", labels_.Of(group)).Key("dumps").BeginArray();
      for (size_t d = 0; d < group.members.size(); ++d) {
        if (group.members[d] < 0) json_.Value(d);
      }
      json_.EndArray().EndObject();
    }
    json_.EndArray();
  }

  const DumpComparisonReport& report_;
  const DumpComparison& comparison_;
  ProgramLabels labels_;
  std::string out_;
  JsonWriter json_;
};

}  // namespace

int StatusOf(const DumpComparison& comparison) {
  if (comparison.unreadable) return kBadInput;
  if (comparison.differs) return kDiffers;
  return comparison.elided > 0 ? kUnsupported : kGood;
}

std::string DumpComparisonText(const DumpComparisonReport& report, size_t top) {
  const DumpComparison& comparison = report.comparison;
  const ProgramLabels labels(comparison);
  std::string out = ComparisonCountsText(comparison);
  const size_t shown = std::min(top, comparison.modules.size());
  for (size_t k = 0; k < shown; ++k)
    out += ComparedModuleText(comparison.modules[k], labels, comparison.dumps.size());
  if (shown < comparison.modules.size())
    out +=
        FormatText("  and {} (--top)\n", Counted(comparison.modules.size() - shown, "more module"));
  out += MissingProgramsText(comparison, labels, top);
  out += MetadataText(comparison, labels, top);
  for (const debug::DumpNote& note : comparison.notes)
    out += FormatText("  note: {}\n", NoteText(comparison, note));
  out += ChoiceDifferencesText(report.choices);
  if (report.fusion) out += FusionReportText(*report.fusion, top);
  return out;
}

std::string DumpComparisonJson(const DumpComparisonReport& report) {
  return DumpComparisonWriter(report).Write();
}

}  // namespace hloscope::app
