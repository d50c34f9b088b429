// The forms a module can be written in, and which of them a file name asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::app {

enum class ModuleForm : uint8_t { kHlo, kElided, kShort, kCanonical, kProto, kTextProto };

struct ModuleFormRow {
  ModuleForm target;
  std::string_view name, extension;
};
inline constexpr ModuleFormRow kModuleForms[] = {
    {ModuleForm::kHlo, "hlo", ".hlo"},         {ModuleForm::kElided, "hlo-elided", ".hlo"},
    {ModuleForm::kShort, "hlo-short", ".hlo"}, {ModuleForm::kCanonical, "hlo-canonical", ".hlo"},
    {ModuleForm::kProto, "pb", ".hlo.pb"},     {ModuleForm::kTextProto, "pbtxt", ".hlo.pbtxt"},
};

// `path` without its last HLO extension and without `.gz` before that.
std::string WithoutModuleExtension(std::string path);
// The same of the file name alone.
std::string ModuleStem(const std::string& path);
// What a bundle of this module is called by default: "m.hlob"; of a bundle not as that.
std::string BundleNameOf(const std::string& path);

// The form that the extension of `path` names, but for `.gz`; an input error lists those there are.
Result<ModuleForm> ModuleFormFromPath(const std::string& path);

// Whether the file name is that of a module and of nothing else: it ends as one of ModuleNames().
bool IsModuleName(std::string_view path);
std::string ModuleNames();

// The names of attributes in the module that HLO protos have no field for.
std::set<std::string> LostInProto(const hlo::Module& module);

// What that form of HLO text leaves out that a run or a compiler reads, in sentences; elided
// constants are not among it.
std::vector<std::string> LostInText(const hlo::Module& module, ModuleForm form);

// The module in that form; protos keep what else was in the file it came from.
std::string RenderModule(hlo::ProtoFile file, std::shared_ptr<const hlo::Module> module,
                         ModuleForm form);

// Writes a rendered module to `path`; packed where that ends in `.gz`.
Status WriteModuleFile(const std::string& path, std::string_view rendered);

}  // namespace hloscope::app
