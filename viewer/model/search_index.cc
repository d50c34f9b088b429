// One lower-case text of all names, searched word by word.
#include "viewer/model/search_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/analysis/align/lineage.h"
#include "core/hlo/attribute.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (char c : text) {
    if (c == ' ') {
      if (!word.empty()) out.push_back(std::exchange(word, {}));
    } else {
      word += Lower(c);
    }
  }
  if (!word.empty()) out.push_back(word);
  // The longest is the rarest: it is looked for, the others only where it is.
  std::ranges::stable_sort(out, std::greater(), &std::string::size);
  return out;
}

}  // namespace

bool HasWords(std::string_view text, std::string_view words) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), Lower);
  return std::ranges::all_of(WordsOf(words), [&](const std::string& word) {
    return lower.find(word) != std::string::npos;
  });
}

void SearchIndex::Add(std::string_view name, std::string_view more, const Selection& selection) {
  // Untrusted names may have any length; the end of long ones is not searched.
  constexpr size_t kMax = 2000;
  name = name.substr(0, kMax);
  entries_.push_back({.begin = text_.size(),
                      .name_length = static_cast<uint32_t>(name.size()),
                      .selection = selection});
  size_t begin = text_.size();
  text_ += name;
  if (!more.empty()) {
    text_ += ' ';
    text_ += more.substr(0, kMax);
  }
  std::replace(text_.begin() + static_cast<ptrdiff_t>(begin), text_.end(), '\n', ' ');
  text_ += '\n';
}

void SearchIndex::AddInstructions(const hlo::Module& module, int32_t m, int32_t stage) {
  for (uint32_t i = 0; i < module.computations().size(); ++i) {
    hlo::ComputationId id(i);
    Add(module[module[id].name], "computation", Selection::OfComputation(m, stage, id));
  }
  std::string more;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    hlo::InstructionId id(i);
    more = hlo::ToString(module[id].opcode);
    if (const auto* metadata =
            module.Get<hlo::OpMetadata>(module[id], hlo::AttributeKey::kMetadata)) {
      more += ' ';
      more += module[metadata->op_name];
    }
    Add(module.name(id), more, Selection::OfInstruction(m, stage, id));
  }
}

void SearchIndex::AddSourceLines(const hlo::Module& module, int32_t m) {
  std::set<std::pair<std::string, int32_t>> lines;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    hlo::SourceLine line = hlo::SourceLineOf(module, hlo::InstructionId(i));
    if (line.line > 0) lines.emplace(line.file, line.line);
  }
  for (const auto& [file, line] : lines)
    Add(fmt::format("{}:{}", file, line), "", Selection::OfSourceLine(file, line, m));
}

void SearchIndex::AddModule(const dump::DumpModel& dump, int32_t m, const std::string& title) {
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
  auto group = [&](std::string where) { groups_.push_back({entries_.size(), std::move(where)}); };
  group(fmt::format("stage of {}", title));
  for (size_t s = 0; s < entry.stages.size(); ++s)
    Add(entry.stages[s].name, "", Selection::OfStage(m, static_cast<int32_t>(s)));
  int32_t final_stage = dump.FinalStage(m);
  for (int32_t stage : {final_stage, 0}) {
    if (stage < 0 || (stage == 0 && final_stage == 0 && !groups_.back().where.starts_with("stage")))
      continue;
    if (auto module = dump.Module(m, stage)) {
      group(fmt::format("{}, {}", title, entry.stages[static_cast<size_t>(stage)].name));
      AddInstructions(**module, m, stage);
      group(fmt::format("source line in {}", title));
      if (stage == final_stage) AddSourceLines(**module, m);
    }
    if (final_stage == 0) break;
  }
  if (auto kernels = dump.Kernels(m)) {
    group(fmt::format("kernel of {}", title));
    for (size_t k = 0; k < (*kernels)->kernels.size(); ++k)
      Add((*kernels)->kernels[k].name, "kernel", Selection::OfKernel(m, static_cast<int32_t>(k)));
  }
}

void SearchIndex::AddGraph(const dump::DumpModel& dump, int32_t file) {
  const auto graph = dump.TensorFlow(file);
  if (!graph) return;
  groups_.push_back({entries_.size(), fmt::format("TensorFlow node in {}",
                                                  dump.files()[static_cast<size_t>(file)].path)});
  for (size_t n = 0; n < (*graph)->nodes.size(); ++n) {
    const dump::TensorFlowNode& node = (*graph)->nodes[n];
    if (!node.function.empty()) continue;
    Add(node.name, fmt::format("{} {} {}", node.op, node.cluster, node.device),
        Selection::OfGraphNode(file, static_cast<int32_t>(n)));
  }
}

Result<std::shared_ptr<const SearchIndex>> SearchIndex::Build(const dump::DumpModel& dump,
                                                              TaskControl& control) {
  auto index = std::make_shared<SearchIndex>();
  auto modules = static_cast<int32_t>(dump.modules().size());
  std::unordered_map<std::string_view, int> names;
  for (const dump::ModuleEntry& entry : dump.modules()) ++names[entry.name];
  std::vector<std::string> titles;
  index->groups_.push_back({0, "module"});
  for (int32_t m = 0; m < modules; ++m) {
    const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(m)];
    titles.push_back(ModuleTitle(entry, names[entry.name] > 1));
    index->Add(entry.name, "module" + titles.back().substr(entry.name.size()),
               Selection::OfModule(m));
  }
  for (int32_t m = 0; m < modules; ++m) {
    if (control.stopped()) return EnvironmentError("stopped");
    control.Progress(m, modules);
    index->AddModule(dump, m, titles[static_cast<size_t>(m)]);
  }
  for (size_t f = 0; f < dump.files().size(); ++f) {
    if (control.stopped()) return EnvironmentError("stopped");
    if (dump.files()[f].role == dump::FileRole::kTensorFlowGraph)
      index->AddGraph(dump, static_cast<int32_t>(f));
  }
  index->groups_.push_back({index->entries_.size(), "file"});
  for (size_t f = 0; f < dump.files().size(); ++f)
    index->Add(dump.files()[f].path, "", Selection::OfTextLine(static_cast<int32_t>(f), 1));
  index->lower_.resize(index->text_.size());
  std::ranges::transform(index->text_, index->lower_.begin(), Lower);
  return index;
}

size_t SearchIndex::Distance(const Selection& selection, const StageInView& in_view) {
  if (in_view.module < 0 || selection.module != in_view.module) return 2;
  return selection.stage == in_view.stage ? 0 : 1;
}

std::vector<SearchHit> SearchIndex::Find(std::string_view text, size_t most,
                                         const std::stop_token& stop,
                                         const StageInView& in_view) const {
  std::vector<std::string> words = WordsOf(text);
  std::vector<SearchHit> out;
  if (words.empty()) return out;
  // By how well the name fits: it is the word, begins with it, holds it, or something else does;
  // then by distance.
  constexpr size_t kDistances = 3;
  std::vector<std::vector<size_t>> found(4 * kDistances);
  size_t at = 0, steps = 0;
  while ((at = lower_.find(words[0], at)) != std::string::npos) {
    if ((++steps & 0xfff) == 0 && stop.stop_requested()) return {};
    size_t end = std::min(lower_.find('\n', at), lower_.size());
    auto entry = std::ranges::upper_bound(entries_, at, {}, &Entry::begin) - 1;
    std::string_view line = std::string_view(lower_).substr(entry->begin, end - entry->begin);
    bool all = std::ranges::all_of(
        words, [&](const std::string& word) { return line.find(word) != std::string_view::npos; });
    at = end;
    if (!all) continue;
    std::string_view name = line.substr(0, entry->name_length);
    size_t place = name.find(words[0]);
    const size_t fit = place == 0                        ? (name == words[0] ? 0 : 1)
                       : place != std::string_view::npos ? 2
                                                         : 3;
    const size_t rank = fit * kDistances + Distance(entry->selection, in_view);
    if (found[rank].size() < most)
      found[rank].push_back(static_cast<size_t>(entry - entries_.begin()));
    if (found[0].size() >= most) break;
  }
  for (const std::vector<size_t>& rank : found) {
    for (size_t i : rank) {
      if (out.size() >= most) return out;
      const Entry& entry = entries_[i];
      auto group = std::ranges::upper_bound(groups_, i, {}, &Group::first) - 1;
      out.push_back({.text = text_.substr(entry.begin, text_.find('\n', entry.begin) - entry.begin),
                     .where = group->where,
                     .selection = entry.selection});
    }
  }
  return out;
}

}  // namespace hloscope::viewer
