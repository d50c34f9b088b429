// Forms of modules by file name, and writing them.
#include "app/module_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "core/base/counted.h"
#include "core/base/deflate.h"
#include "core/base/file.h"
#include "core/hlo/text/text.h"

namespace hloscope::app {
namespace {

// The extensions of HLO files, longer ones first.
constexpr std::array<std::string_view, 11> kExtensions = {
    ".hlo.pbtxt", ".hlo.pb", ".hlo.txt", ".textproto", ".pbtxt", ".hlo",
    ".txt",       ".pb",     ".mlir",    ".export",    ".txtpb"};

// Those that no trace has; `.pb` alone is that of an XSpace too.
constexpr std::array<std::string_view, 9> kModuleEndings = {
    ".hlo", ".hlo.pb", ".txt", ".pbtxt", ".textproto", ".txtpb", ".mlir", ".mlirbc", ".hlob"};

}  // namespace

std::string WithoutModuleExtension(std::string path) {
  if (path.ends_with(".gz")) path.resize(path.size() - 3);
  for (std::string_view extension : kExtensions) {
    if (path.ends_with(extension) && path.size() > extension.size()) {
      return path.substr(0, path.size() - extension.size());
    }
  }
  return path;
}

std::string ModuleStem(const std::string& path) {
  return WithoutModuleExtension(std::filesystem::path(path).filename().string());
}

std::string BundleNameOf(const std::string& path) {
  const std::string stem = ModuleStem(path);
  constexpr std::string_view kBundle = ".hlob";
  if (!stem.ends_with(kBundle)) return stem + std::string(kBundle);
  return stem.substr(0, stem.size() - kBundle.size()) + ".again" + std::string(kBundle);
}

Result<ModuleForm> ModuleFormFromPath(const std::string& given) {
  std::string_view path = given;
  if (path.ends_with(".gz")) path.remove_suffix(3);
  for (std::string_view e : {".pbtxt", ".textproto", ".txtpb"}) {
    if (path.ends_with(e)) return ModuleForm::kTextProto;
  }
  if (path.ends_with(".pb")) return ModuleForm::kProto;
  if (path.ends_with(".hlo") || path.ends_with(".txt") || path == "-") return ModuleForm::kHlo;
  if (path.ends_with(".mlir")) {
    return InputError(given + ": StableHLO is read but not written",
                      "name a file that ends in .hlo or .pb");
  }
  return InputError(given +
                        ": unknown extension, expected .hlo, .txt, .pb, .hlo.pb, .pbtxt, "
                        ".textproto or .txtpb, all also with .gz",
                    "the end of its name says which form is written");
}

bool IsModuleName(std::string_view path) {
  return std::ranges::any_of(kModuleEndings, [&](auto end) { return path.ends_with(end); });
}

std::string ModuleNames() { return fmt::format("{}", fmt::join(kModuleEndings, ", ")); }

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

std::vector<std::string> LostInText(const hlo::Module& module, ModuleForm form) {
  if (form != ModuleForm::kShort && form != ModuleForm::kCanonical) return {};
  constexpr int64_t kPrinted = 10;  // elements of a constant that XLA prints
  int64_t ordered = 0, configured = 0, large = 0;
  for (const hlo::Instruction& i : module.instructions()) {
    const auto* config = module.Get<hlo::BackendConfig>(i, hlo::AttributeKey::kBackendConfig);
    const auto* value = module.Get<hlo::Literal>(i, hlo::AttributeKey::kConstantValue);
    large += value != nullptr && value->shape().IsArray() && !value->elided() &&
                     value->shape().ElementCount().value_or(0) > kPrinted
                 ? 1
                 : 0;
    configured += config != nullptr && !module[config->text].empty() ? 1 : 0;
    const hlo::Attribute* before = module.Find(i, hlo::AttributeKey::kControlPredecessors);
    ordered += before != nullptr && !module.IdsOf(*before).empty() ? 1 : 0;
  }
  std::vector<std::string> lost;
  if (ordered > 0) {
    lost.push_back(fmt::format("the control predecessors of {} are left out of this form",
                               Counted(ordered, "instruction")));
  }
  if (configured > 0 && form == ModuleForm::kCanonical) {
    lost.push_back(fmt::format("the backend_config of {} is left out of this form",
                               Counted(configured, "instruction")));
  }
  if (large > 0 && form == ModuleForm::kCanonical) {
    lost.push_back(
        fmt::format("the values of {} are left out of this form", Counted(large, "constant")));
  }
  return lost;
}

std::string RenderModule(hlo::ProtoFile file, std::shared_ptr<const hlo::Module> module,
                         ModuleForm form) {
  std::string out;
  switch (form) {
    case ModuleForm::kHlo:
      hlo::PrintText(*module, hlo::TextFormat::kHlo, out);
      break;
    case ModuleForm::kElided:
      hlo::PrintText(*module, hlo::TextFormat::kElided, out);
      break;
    case ModuleForm::kShort:
      hlo::PrintText(*module, hlo::TextFormat::kShort, out);
      break;
    case ModuleForm::kCanonical:
      hlo::PrintText(*module, hlo::TextFormat::kCanonical, out);
      break;
    case ModuleForm::kProto:
    case ModuleForm::kTextProto:
      file.module = std::move(module);
      out = form == ModuleForm::kProto ? hlo::HloToProto(file) : hlo::HloToTextProto(file);
  }
  return out;
}

Status WriteModuleFile(const std::string& path, std::string_view rendered) {
  if (!path.ends_with(".gz")) return WriteFileAtomically(path, rendered);
  std::string packed;
  GzipStream stream;
  stream.Append(rendered, packed);
  stream.Finish(packed);
  return WriteFileAtomically(path, packed);
}

}  // namespace hloscope::app
