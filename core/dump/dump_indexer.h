// Making modules, stages and their files out of the names in a dump.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/dump/split_ids.h"

namespace hloscope::dump {

class DumpIndexer {
 public:
  DumpIndexer(DumpModel& model, const std::vector<TextEnd>& ends) : model_(model), ends_(ends) {}

  // Fills the model's files (their kinds are known already), modules and warnings.
  void Run();

 private:
  struct Key {
    std::string folder, timestamp;
    int64_t id = -1;
    auto operator<=>(const Key&) const = default;
  };
  // A file whose name holds module_NNNN, or whose folder's does.
  struct Named {
    int32_t file = -1;
    DumpFileName parts;
    bool in_module_folder = false;
    std::string module;
    RoleMatch match;
  };
  struct Group {
    std::vector<Named> files;
    std::vector<std::string> names;  // that are sure, longest first
    // By name of a module: the id of what it became, where XLA numbered that otherwise.
    std::map<std::string, int64_t> end_ids;
  };

  void Collect();
  bool CollectFromFolder(int32_t file, std::string_view folder);
  void LearnNames(Group& group);
  void Resolve(const Key& key, Group& group);
  void ResolveFile(const Group& group, Named& named) const;
  static void MatchFile(const Group& group, Named& named);
  static bool IsElsewhere(const Key& key, const Key& other, const std::string& module);
  void JoinUntimed();
  void JoinSplitIds();
  NumberedModule Numbered(const Key& key, const Group& group, const std::string& name) const;
  Result<EntryArrays> ReadEntryArrays(int32_t file) const;
  void AddModules();
  void AddLoose();
  int32_t ModuleFor(std::string_view path) const;
  int32_t ModuleOfJaxFile(std::string_view path);
  FileRole LooseRole(const FileEntry& file) const;
  void LeaveOutEarlierRuns();
  void AddToStages();
  void AddSnapshotStage(ModuleEntry& module);
  void AddDerivedStages();
  void Describe();
  bool IsPtxOfConstants(const FileEntry& file) const;
  void CheckKinds();

  DumpModel& model_;
  const std::vector<TextEnd>& ends_;  // of the files
  std::map<Key, Group> groups_;
  std::vector<int32_t> loose_;
  // How many programs of JAX of a folder, kind and name were met.
  std::map<std::tuple<std::string, bool, std::string>, size_t> jax_programs_;
  std::vector<std::string> stage_of_file_;  // names, until stages are sorted
};

}  // namespace hloscope::dump
