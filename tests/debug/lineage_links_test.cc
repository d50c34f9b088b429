// Links judged by hand: how many of those found are right, and that confidence tells the wrong ones
// apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/analysis/align/alignment.h"
#include "core/dump/load.h"
#include "tests/base/paths.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Module;

const std::filesystem::path kFolder = SourcePath("tests/debug/lineage_links");

// A row of NAME.tsv: an instruction after, and what it comes from, one of several.
struct Row {
  std::string before, after, instruction;
  std::vector<std::string> origins;  // "-": nothing
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<Row> ReadRows(const std::filesystem::path& file) {
  std::vector<Row> rows;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> parts = Split(line, '\t');
    EXPECT_EQ(parts.size(), 4u) << file << ": " << line;
    if (parts.size() == 4) rows.push_back({parts[0], parts[1], parts[2], Split(parts[3], '|')});
  }
  return rows;
}

// "computation::instruction".
std::string NameOf(const Module& module, InstructionId id) {
  std::string name(module[module[module[id].computation].name]);
  return name + "::" + std::string(module.name(id));
}

class Judge {
 public:
  struct Verdict {
    bool right = false;
    float confidence = 0;
  };

  // The best link of the row's instruction.
  Verdict Check(const std::string& program, const Row& row) {
    const Step& step = Get(program, row);
    if (step.before == nullptr || step.after == nullptr) return {};
    for (uint32_t k = 0; k < step.after->instructions().size(); ++k) {
      if (NameOf(*step.after, InstructionId(k)) != row.instruction) continue;
      auto links = step.alignment.Origins(InstructionId(k));
      std::string found = links.empty() ? "-" : NameOf(*step.before, links.front().before);
      bool right = std::ranges::find(row.origins, found) != row.origins.end();
      float confidence = links.empty() ? 0 : links.front().confidence;
      if (!right) {
        std::string reason = links.empty() ? "" : std::string(KeyOf(links.front().reason));
        for (const std::string& word :
             {program, row.before, std::string(">"), row.after, row.instruction,
              std::string("comes from"), row.origins[0], std::string("but found is"), found, reason,
              std::to_string(confidence)}) {
          wrong += word;
          wrong += ' ';
        }
        wrong.back() = '\n';
      }
      return {right, confidence};
    }
    ADD_FAILURE() << program << ": no " << row.instruction << " in " << row.after;
    return {};
  }

  std::string wrong;

 private:
  struct Step {
    std::shared_ptr<const Module> before, after;
    analysis::Alignment alignment;
  };

  const Step& Get(const std::string& program, const Row& row) {
    auto [at, added] = steps_.try_emplace(program + "/" + row.before + "/" + row.after);
    if (!added) return at->second;
    at->second.before = Load(program, row.before);
    at->second.after = Load(program, row.after);
    if (at->second.before != nullptr && at->second.after != nullptr) {
      at->second.alignment = analysis::Align(*at->second.before, *at->second.after);
    }
    return at->second;
  }

  static std::shared_ptr<const Module> Load(const std::string& program, const std::string& file) {
    std::filesystem::path path = kFolder / program / file;
    if (!std::filesystem::exists(path)) path = kFolder / "../../../samples" / program / file;
    auto view = FileView::Open(path.string(), Limits{});
    EXPECT_TRUE(view.has_value()) << path;
    auto loaded = view ? dump::LoadSoundModule(*view, Limits{})
                       : Result<dump::LoadedModule>(InputError("not opened"));
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().ToString());
    return loaded ? loaded->module : nullptr;
  }

  std::map<std::string, Step> steps_;
};

TEST(LineageLinks, AlmostAllThatWereJudgedByHandAreRight) {
  Judge judge;
  int count[2] = {0, 0}, sure[2] = {0, 0};
  double confidence[2] = {0, 0};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".tsv") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    for (const Row& row : ReadRows(file)) {
      Judge::Verdict verdict = judge.Check(file.stem().string(), row);
      ++count[verdict.right];
      confidence[verdict.right] += verdict.confidence;
      sure[verdict.right] += verdict.confidence >= 0.7f;
    }
  }
  int all = count[0] + count[1];
  double right = confidence[1] / count[1], wrong = count[0] == 0 ? 0 : confidence[0] / count[0];
  RecordProperty("links", all);
  RecordProperty("right", count[1]);
  std::cout << count[1] << " of " << all << " right; mean confidence of right " << right
            << ", of wrong " << wrong << "; at 0.7 and above " << sure[1] << " right, " << sure[0]
            << " wrong\n"
            << judge.wrong;
  EXPECT_GE(all, 200);
  EXPECT_GE(count[1], all * 0.95) << judge.wrong;
  EXPECT_GE(sure[1], (sure[0] + sure[1]) * 0.98) << judge.wrong;
  // A mean of less than a handful says nothing.
  if (count[0] >= 5) {
    EXPECT_GE(right, wrong + 0.2);
  }
}

}  // namespace
}  // namespace hloscope::debug
