// SearchIndex: every name of a dump in one text, to search as fast as one types.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "viewer/model/selection.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {

struct SearchHit {
  std::string text;   // what matched, as one line
  std::string where;  // "instruction of jit_step, after_optimizations", …
  Selection selection;
};

// Every word of `words` is in `text`, whatever the case.
bool HasWords(std::string_view text, std::string_view words);

// What is in view: its hits come before equally good ones elsewhere. -1: nothing.
struct StageInView {
  int32_t module = -1, stage = -1;
  bool operator==(const StageInView&) const = default;
};

class SearchIndex {
 public:
  // Reads first and final stage of every module, kernels, TensorFlow's graphs and files; what
  // cannot be read is left out.
  static Result<std::shared_ptr<const SearchIndex>> Build(const dump::DumpModel& dump,
                                                          TaskControl& control);
  // At most `most` hits, names that begin with the words first, of equally good ones those in view,
  // then those of its module; words are separated by blanks and must all occur, in any case of
  // letters. Stops early when asked to.
  std::vector<SearchHit> Find(std::string_view text, size_t most, const std::stop_token& stop,
                              const StageInView& in_view = {}) const;
  size_t entries() const { return entries_.size(); }

 private:
  struct Entry {
    size_t begin = 0;  // in lower_
    uint32_t name_length = 0;
    Selection selection;
  };
  struct Group {  // entries of one kind and place follow one another
    size_t first = 0;
    std::string where;
  };
  // How near an entry is to what is in view: 0 in it, 1 in its module, 2 elsewhere.
  static size_t Distance(const Selection& selection, const StageInView& in_view);
  void Add(std::string_view name, std::string_view more, const Selection& selection);
  void AddModule(const dump::DumpModel& dump, int32_t module, const std::string& title);
  void AddInstructions(const hlo::Module& module, int32_t m, int32_t stage);
  void AddGraph(const dump::DumpModel& dump, int32_t file);
  void AddSourceLines(const hlo::Module& module, int32_t m);

  std::string text_, lower_;  // one line an entry: name, then what else is searched
  std::vector<Entry> entries_;
  std::vector<Group> groups_;
};

}  // namespace hloscope::viewer
