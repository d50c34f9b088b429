// Forms of modules by file name, and writing them.
#include "app/module_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

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
