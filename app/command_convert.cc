// `hloscope convert`: HLO text, protos and text protos into one another.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <set>

#include "app/command.h"
#include "app/inputs.h"
#include "app/output.h"
#include "core/base/jobs.h"
#include "core/hlo/proto.h"
#include "core/hlo/text.h"

namespace hloscope::app {
namespace {

namespace fs = std::filesystem;

enum class Target : uint8_t { kHlo, kElided, kShort, kCanonical, kProto, kTextProto };

struct TargetRow {
  Target target;
  std::string_view name, extension;
};
constexpr TargetRow kTargets[] = {
    {Target::kHlo, "hlo", ".hlo"},         {Target::kElided, "hlo-elided", ".hlo"},
    {Target::kShort, "hlo-short", ".hlo"}, {Target::kCanonical, "hlo-canonical", ".hlo"},
    {Target::kProto, "pb", ".hlo.pb"},     {Target::kTextProto, "pbtxt", ".hlo.pbtxt"},
};

// The extensions of HLO files, longer ones first.
constexpr std::array<std::string_view, 9> kExtensions = {
    ".hlo.pbtxt", ".hlo.pb", ".hlo.txt", ".textproto", ".pbtxt", ".hlo", ".txt", ".pb", ".mlir"};

// The file name without folder and without its last HLO extension.
std::string Stem(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (std::string_view extension : kExtensions) {
    if (name.ends_with(extension) && name.size() > extension.size())
      return name.substr(0, name.size() - extension.size());
  }
  return name;
}

Result<Target> TargetFromPath(const std::string& path) {
  for (std::string_view e : {".pbtxt", ".textproto"}) {
    if (path.ends_with(e)) return Target::kTextProto;
  }
  if (path.ends_with(".pb")) return Target::kProto;
  if (path.ends_with(".hlo") || path.ends_with(".txt") || path == "-") return Target::kHlo;
  return InputError(
      path + ": unknown extension, expected .hlo, .txt, .pb, .hlo.pb, .pbtxt or .textproto",
      "or say the form with --to");
}

// The names of attributes in the module that HLO protos have no field for.
std::set<std::string> LostInProto(const hlo::Module& module) {
  using enum hlo::AttributeKey;
  std::set<std::string> names;
  for (const hlo::Instruction& i : module.instructions()) {
    for (const hlo::Attribute& a : module.attributes(i)) {
      if (a.key == kUnknown) names.emplace(module[module.Of<hlo::RawAttribute>(a).name]);
      if (a.key == kMode || a.key == kInplace || a.key == kSparsity) {
        names.emplace(hlo::Info(a.key).text);
      }
    }
  }
  return names;
}

std::string Render(const dump::LoadedModule& loaded, Target target) {
  std::string out;
  switch (target) {
    case Target::kHlo:
      hlo::PrintText(*loaded.module, hlo::TextFormat::kHlo, out);
      break;
    case Target::kElided:
      hlo::PrintText(*loaded.module, hlo::TextFormat::kElided, out);
      break;
    case Target::kShort:
      hlo::PrintText(*loaded.module, hlo::TextFormat::kShort, out);
      break;
    case Target::kCanonical:
      hlo::PrintText(*loaded.module, hlo::TextFormat::kCanonical, out);
      break;
    case Target::kProto:
    case Target::kTextProto: {
      hlo::ProtoFile file = loaded.proto;
      file.module = loaded.module;
      out = target == Target::kProto ? hlo::HloToProto(file) : hlo::HloToTextProto(file);
    }
  }
  return out;
}

class ConvertCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<std::string> names;
    for (const TargetRow& row : kTargets) names.emplace_back(row.name);
    return {
        {.name = "files",
         .target = &files_,
         .help = "IN OUT, or with --to any number of files and directories",
         .value = "FILE",
         .choices = {},
         .required = true},
        {.name = "--to",
         .target = &to_,
         .help = "the form to write",
         .value = "FORM",
         .choices = names},
        {.name = "--out-dir",
         .target = &out_dir_,
         .help = "where to write STEM.hlo, STEM.hlo.pb, …",
         .value = "DIR",
         .choices = {}},
    };
  }

  int Run(const Context& context) override {
    if (out_dir_.empty()) return RunPair(context);
    if (to_.empty()) return Usage("--out-dir needs --to");
    Result<std::vector<std::string>> files = ExpandDirectories(files_, context.limits);
    if (!files) return Fail(files.error());
    std::error_code error;
    fs::create_directories(out_dir_, error);
    if (error)
      return Fail(Error{ErrorClass::kEnvironment, out_dir_ + ": " + error.message(), {}, {}});
    int threads = context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus();
    std::vector<int> statuses(files->size(), kGood);
    Progress progress("convert", files->size());
    const TargetRow& row = *std::ranges::find(kTargets, to_, &TargetRow::name);
    Status done = ParallelFor(static_cast<int64_t>(files->size()), threads, [&](int64_t i) {
      const std::string& in = (*files)[static_cast<size_t>(i)];
      std::string out = (fs::path(out_dir_) / (Stem(in) + std::string(row.extension))).string();
      statuses[static_cast<size_t>(i)] = ConvertOne(in, out, row.target, context);
      progress.Step();
    });
    int status = done ? kGood : Fail(done.error());
    for (int s : statuses) status = Worse(status, s);
    return status;
  }

 private:
  int RunPair(const Context& context) {
    if (files_.size() == 1 && !to_.empty()) files_.push_back("-");
    if (files_.size() != 2)
      return Usage(fmt::format("expected IN OUT, got {} files", files_.size()));
    Target target = Target::kHlo;
    if (to_.empty()) {
      Result<Target> by_name = TargetFromPath(files_[1]);
      if (!by_name) return Fail(by_name.error());
      target = *by_name;
    } else {
      target = std::ranges::find(kTargets, to_, &TargetRow::name)->target;
    }
    return ConvertOne(files_[0], files_[1], target, context);
  }

  int ConvertOne(const std::string& in, const std::string& out, Target target,
                 const Context& context) {
    Result<dump::LoadedModule> loaded = dump::LoadModule(in, context.limits);
    if (!loaded) return Fail(loaded.error());
    if (loaded->module == nullptr) {
      std::lock_guard lock(mutex_);
      PrintReadErrors(*loaded);
      return kBadInput;
    }
    if (target == Target::kProto || target == Target::kTextProto) {
      for (const std::string& name : LostInProto(*loaded->module)) {
        std::lock_guard lock(mutex_);
        PrintError(in + ": warning: attribute " + name +
                   " has no field in HLO protos and is left out");
      }
    }
    std::string bytes = Render(*loaded, target);
    if (out == "-") {
      WriteOut(bytes);
      return kGood;
    }
    Status written = WriteFileAtomically(out, bytes);
    return written ? kGood : Fail(written.error());
  }

  int Fail(const Error& error) {
    std::lock_guard lock(mutex_);
    PrintError(error);
    return ExitStatusOf(error);
  }
  int Usage(const std::string& message) {
    PrintError("hloscope convert: " + message);
    return kBadInput;
  }

  std::vector<std::string> files_;
  std::string to_, out_dir_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Command> MakeConvertCommand() { return std::make_unique<ConvertCommand>(); }

}  // namespace hloscope::app
