// `hloscope info`: a dump directory or a module at a glance.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "app/command.h"
#include "app/inputs.h"
#include "app/output.h"
#include "core/base/json.h"
#include "core/dump/directory.h"
#include "core/hlo/summary.h"

namespace hloscope::app {
namespace {

std::string Bytes(int64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// What a dump does not hold and the flag that would have written it.
std::vector<std::string> Missing(const dump::Dump& found) {
  bool before = false, after = false, proto = false, passes = false;
  for (const dump::DumpModule& module : found.modules) {
    for (const dump::Stage& stage : module.stages) {
      int rank = dump::StageRank(stage.name);
      before |= rank == 0;
      passes |= rank >= 10 && rank < 20'000;
      after |= rank == 20'002;
      proto |= std::ranges::any_of(
          stage.files, [](const auto& f) { return f.kind == dump::FileKind::kHloProto; });
    }
  }
  std::vector<std::string> missing;
  if (found.modules.empty())
    missing.emplace_back("no modules: XLA writes them with XLA_FLAGS=--xla_dump_to=DIR");
  if (found.modules.empty()) return missing;
  if (!before)
    missing.emplace_back("no before-optimization modules: the compilation cache may have answered");
  if (!after)
    missing.emplace_back(
        "no after-optimization modules: the compilation did not finish, or was not dumped");
  if (!proto)
    missing.emplace_back(
        "no .hlo.pb: large constants are elided in text; add --xla_dump_hlo_as_proto");
  if (!passes) missing.emplace_back("no passes: add --xla_dump_hlo_pass_re=.*");
  return missing;
}

class InfoCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "paths",
             .target = &paths_,
             .help = "dump directories or module files; - is standard input",
             .value = "PATH",
             .choices = {},
             .required = true}};
  }

  int Run(const Context& context) override {
    int status = kGood;
    for (const std::string& path : paths_) {
      std::error_code error;
      bool directory = std::filesystem::is_directory(path, error);
      status = Worse(status, directory ? Directory(path, context) : File(path, context));
    }
    return status;
  }

 private:
  int Directory(const std::string& path, const Context& context) {
    Result<dump::Dump> found = dump::ScanDump(path, context.limits);
    if (!found) return Fail(path, found.error(), context);
    context.json ? WriteOut(DirectoryJson(*found)) : PrintOut(DirectoryText(*found));
    return kGood;
  }

  // What is known about a file that holds no HLO module; false if it may hold one.
  static bool ShowOtherKind(const FileView& file, const Context& context) {
    dump::FileKind kind = dump::Sniff(file.bytes());
    bool other = !dump::IsModuleKind(kind) && kind != dump::FileKind::kText &&
                 kind != dump::FileKind::kUnknown && kind != dump::FileKind::kEmpty;
    if (!other) return false;
    auto bytes = static_cast<int64_t>(file.bytes().size());
    if (context.json) {
      std::string out;
      JsonWriter json(out);
      json.BeginObject().Field("file", file.path()).Field("kind", dump::ToString(kind));
      json.Field("bytes", bytes).EndObject();
      WriteOut(out + "\n");
      return true;
    }
    PrintOut(fmt::format("{}: {} ({})\n", file.path(), dump::Describe(kind), Bytes(bytes)));
    if (kind == dump::FileKind::kStableHloText) PrintOut(file.bytes());
    return true;
  }

  int File(const std::string& path, const Context& context) {
    Result<FileView> file = FileView::Open(path, context.limits);
    if (!file) return Fail(path, file.error(), context);
    if (ShowOtherKind(*file, context)) return kGood;
    Result<dump::LoadedModule> loaded = dump::LoadModule(*file, context.limits);
    if (!loaded) return Fail(path, loaded.error(), context);
    if (loaded->module == nullptr) {
      Result<dump::LoadedModule> again = dump::LoadSoundModule(*file, context.limits);
      if (context.json) return Fail(path, again.error(), context);
      PrintReadErrors(*loaded);
      return kBadInput;
    }
    hlo::ModuleSummary summary = hlo::Summarize(*loaded->module);
    context.json ? WriteOut(FileJson(*loaded, summary)) : PrintOut(FileText(*loaded, summary));
    return kGood;
  }

  static int Fail(const std::string& path, const Error& error, const Context& context) {
    if (context.json) {
      std::string out;
      JsonWriter(out)
          .BeginObject()
          .Field("file", path)
          .Field("error", error.ToString())
          .EndObject();
      WriteOut(out + "\n");
    }
    PrintError(error);
    return ExitStatusOf(error);
  }

  static std::string FileText(const dump::LoadedModule& loaded, const hlo::ModuleSummary& s) {
    const hlo::Module& m = *loaded.module;
    std::string out =
        fmt::format("{}: module {} ({}, {})\n", loaded.path, m.name(), dump::Describe(loaded.kind),
                    Bytes(static_cast<int64_t>(loaded.file.bytes().size())));
    out += fmt::format("  {} instructions in {} computations, entry {}{}\n", s.instructions,
                       s.computations, m[m.entry().name],
                       m.header().is_scheduled ? ", scheduled" : "");
    out += fmt::format("  replica_count {}, num_partitions {}\n", m.header().replica_count,
                       m.header().num_partitions);
    out += "  parameters:";
    for (const std::string& shape : s.parameters) out += " " + shape;
    out += fmt::format(" ({})\n  result: {} ({})\n", Bytes(s.parameter_bytes), s.result,
                       Bytes(s.result_bytes));
    if (s.elided_constants != 0) {
      out += fmt::format(
          "  {} elided constants: their values are not in this file; the .hlo.pb of the dump has "
          "them\n",
          s.elided_constants);
    }
    out += "  opcodes:";
    for (size_t k = 0; k < s.opcodes.size() && k < 12; ++k)
      out += fmt::format(" {} {}", s.opcodes[k].second, s.opcodes[k].first);
    out += s.opcodes.size() > 12 ? fmt::format(" and {} more\n", s.opcodes.size() - 12) : "\n";
    for (const hlo::Diagnostic& d : loaded.diagnostics) out += "  warning: " + d.message + "\n";
    for (const auto& list : loaded.proto.arguments)
      out += fmt::format("  holds {} arguments\n", list.size());
    return out;
  }

  static std::string FileJson(const dump::LoadedModule& loaded, const hlo::ModuleSummary& s) {
    const hlo::Module& m = *loaded.module;
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("file", loaded.path)
        .Field("kind", dump::ToString(loaded.kind))
        .Field("module", m.name());
    json.Field("bytes", loaded.file.bytes().size())
        .Field("instructions", s.instructions)
        .Field("computations", s.computations);
    json.Field("entry", m[m.entry().name]).Field("is_scheduled", m.header().is_scheduled);
    json.Field("replica_count", m.header().replica_count)
        .Field("num_partitions", m.header().num_partitions);
    json.Key("parameters").BeginArray();
    for (const std::string& shape : s.parameters) json.Value(shape);
    json.EndArray()
        .Field("result", s.result)
        .Field("parameter_bytes", s.parameter_bytes)
        .Field("result_bytes", s.result_bytes);
    json.Field("elided_constants", s.elided_constants).Key("opcodes").BeginObject();
    for (const auto& [name, count] : s.opcodes) json.Field(name, count);
    json.EndObject().EndObject();
    return out + "\n";
  }

  static std::string DirectoryText(const dump::Dump& found) {
    std::string out = fmt::format("{}: {} modules\n", found.path, found.modules.size());
    for (const dump::DumpModule& module : found.modules) {
      std::string id = module.id < 0 ? "" : fmt::format("module_{:04} ", module.id);
      out += fmt::format("  {}{}\n", id, module.name);
      for (const dump::Stage& stage : module.stages) {
        out += fmt::format("    {:<58}", stage.name);
        for (const dump::DumpFile& file : stage.files)
          out += fmt::format(" {} ({})", dump::ToString(file.kind), Bytes(file.bytes));
        out += '\n';
      }
      std::map<std::string_view, int> others;
      for (const dump::DumpFile& file : module.others) ++others[dump::ToString(file.kind)];
      if (!others.empty()) out += "    also:";
      for (const auto& [kind, count] : others) out += fmt::format(" {} {}", count, kind);
      if (!others.empty()) out += '\n';
    }
    if (!found.loose.empty()) out += fmt::format("  {} files of no module\n", found.loose.size());
    for (const std::string& text : Missing(found)) out += "  missing: " + text + "\n";
    for (const std::string& text : found.warnings) out += "  warning: " + text + "\n";
    return out;
  }

  static void WriteFiles(JsonWriter& json, std::string_view key,
                         const std::vector<dump::DumpFile>& files) {
    json.Key(key).BeginArray();
    for (const dump::DumpFile& file : files) {
      json.BeginObject()
          .Field("file", file.path)
          .Field("kind", dump::ToString(file.kind))
          .Field("bytes", file.bytes)
          .EndObject();
    }
    json.EndArray();
  }

  static std::string DirectoryJson(const dump::Dump& found) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("file", found.path).Key("modules").BeginArray();
    for (const dump::DumpModule& module : found.modules) {
      json.BeginObject()
          .Field("id", module.id)
          .Field("name", module.name)
          .Key("stages")
          .BeginArray();
      for (const dump::Stage& stage : module.stages) {
        json.BeginObject().Field("name", stage.name);
        WriteFiles(json, "files", stage.files);
        json.EndObject();
      }
      json.EndArray();
      WriteFiles(json, "others", module.others);
      json.EndObject();
    }
    json.EndArray();
    WriteFiles(json, "loose", found.loose);
    for (const auto& [key, list] :
         {std::pair("missing", Missing(found)), std::pair("warnings", found.warnings)}) {
      json.Key(key).BeginArray();
      for (const std::string& text : list) json.Value(text);
      json.EndArray();
    }
    json.EndObject();
    return out + "\n";
  }

  std::vector<std::string> paths_;
};

}  // namespace

std::unique_ptr<Command> MakeInfoCommand() { return std::make_unique<InfoCommand>(); }

}  // namespace hloscope::app
