// Opening what lies inside of something else by one path: members of archives (`a.zip/m.hlo`) and
// modules in texts or traces that hold several (`all.hlo:NAME`, `log.txt:2`, `t.xplane.pb:jit_f`).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/zip/archive.h"
#include "core/dump/module_parts.h"

namespace hloscope::dump {

// A directory, or an archive by its name, which is read like one.
bool IsFolder(const std::string& path);
bool IsArchive(const std::string& path);

// What was opened last is kept, so that members are read one after another at no more cost.
Result<std::shared_ptr<const Archive>> OpenArchive(const std::string& path, const Limits& limits);

// The bytes of a file, or of what lies in one.
Result<FileView> OpenInput(const std::string& path, const Limits& limits);

// The modules inside of a file: of a text or of a trace (not of an archive). `kind`: what it is by
// its beginning.
ModuleParts FindModulesIn(std::string_view bytes, const Limits& limits);
ModuleParts FindModulesIn(std::string_view bytes, FileKind kind, const Limits& limits);

// The same for a module: of a text that holds one among something else, that one. Error: it holds
// several.
Result<FileView> OpenModuleFile(const std::string& path, const Limits& limits);
Result<FileView> OnlyModuleIn(const FileView& file, const Limits& limits);
Result<FileView> OnlyModuleIn(const FileView& file, const ModuleParts& found);

}  // namespace hloscope::dump
