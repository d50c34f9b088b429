// Modules whose stages were written under two ids become one.
#include <fmt/format.h>

#include <algorithm>

#include "core/dump/dump_indexer.h"
#include "core/dump/load.h"
#include "core/dump/split_ids.h"
#include "core/dump/stage_order.h"

namespace hloscope::dump {

Result<EntryArrays> DumpIndexer::ReadEntryArrays(int32_t file) const {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView view, model_.OpenFile(file));
  if (model_.files_[static_cast<size_t>(file)].kind == FileKind::kHloText) {
    if (auto arrays = EntryArraysOf(view.bytes())) return *std::move(arrays);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const LoadedModule loaded, LoadSoundModule(view, model_.limits_));
  return EntryArraysOf(*loaded.module);
}

// What the stages of a group's module `name` are.
NumberedModule DumpIndexer::Numbered(const Key& key, const Group& group,
                                     const std::string& name) const {
  NumberedModule module{key.id};
  for (const Named& named : group.files) {
    if (named.module != name || named.match.role != FileRole::kModule) continue;
    const FileKind kind = model_.files_[static_cast<size_t>(named.file)].kind;
    if (!IsModuleKind(kind)) continue;
    (PhaseOf(named.match.stage) == StagePhase::kInput ? module.has_begin : module.has_end) = true;
    if (module.file < 0 || kind == FileKind::kHloText) module.file = named.file;
  }
  return module;
}

void DumpIndexer::JoinSplitIds() {
  struct Written {
    std::vector<Group*> groups;
    std::vector<NumberedModule> modules;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Written> by_name;
  for (auto& [key, group] : groups_) {
    for (const std::string& name : group.names) {
      Written& written = by_name[{key.folder, key.timestamp, name}];
      written.groups.push_back(&group);
      written.modules.push_back(Numbered(key, group, name));
    }
  }
  for (auto& [key, written] : by_name) {
    const std::string& name = std::get<2>(key);
    const SplitIds found =
        FindSplitIds(written.modules, [&](int32_t file) { return ReadEntryArrays(file); });
    for (const SplitIds::Pair& pair : found.pairs) {
      Group &from = *written.groups[pair.end], &to = *written.groups[pair.begin];
      std::ranges::copy_if(from.files, std::back_inserter(to.files),
                           [&](const Named& named) { return named.module == name; });
      std::erase_if(from.files, [&](const Named& named) { return named.module == name; });
      to.end_ids[name] = written.modules[pair.end].id;
    }
    for (const size_t end : found.unclear) {
      model_.warnings_.push_back(fmt::format(
          "module_{:04}.{}: only stages after optimization, and several modules of this name and "
          "these parameters have only those before it: which belong together is unknown",
          written.modules[end].id, name));
    }
  }
}

}  // namespace hloscope::dump
