// Driver of the fuzz targets without libFuzzer: seeded mutations of seed files, each run within a
// second.
//   fuzz_driver TARGET [--runs N] [--seed S] [--max-ms MS] SEED_FILE_OR_FOLDER…
//   fuzz_driver TARGET --replay FILE…
//   fuzz_driver TARGET --seeds-to FOLDER SEED_FILE_OR_FOLDER…   writes the seeds as libFuzzer takes
//   them
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/hlo/opcode.h"
#include "tests/fuzz/fuzz_targets.h"

namespace hloscope::fuzz {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

constexpr size_t kMaxSeedBytes = 64 << 10;

struct Options {
  std::string target;
  int64_t runs = 2000;
  uint64_t seed = 1;
  double max_ms = 1000;
  bool replay = false;
  std::string seeds_to;
  std::vector<std::string> paths;
};

std::vector<std::string> Dictionary() {
  std::vector<std::string> words = {"(",
                                    ")",
                                    "{",
                                    "}",
                                    "[",
                                    "]",
                                    ",",
                                    "=",
                                    "->",
                                    "<=",
                                    "...",
                                    "{...}",
                                    "%",
                                    "\"",
                                    "#0",
                                    "ENTRY",
                                    "ROOT",
                                    "HloModule",
                                    "-1",
                                    "0",
                                    "9223372036854775807",
                                    "4294967296",
                                    "1e400",
                                    "nan",
                                    "-inf",
                                    "{0,1}",
                                    "T(8,128)",
                                    "S(5)",
                                    "to_apply",
                                    "calls",
                                    "parameter(0)",
                                    "/*",
                                    "//"};
  for (int k = 0; k < hlo::kOpcodeCount; ++k)
    words.emplace_back(hlo::ToString(static_cast<hlo::Opcode>(k)));
  for (int k = 0; k < hlo::kAttributeKeyCount; ++k)
    words.emplace_back(hlo::Info(static_cast<hlo::AttributeKey>(k)).text);
  return words;
}

size_t Below(Random& random, size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); }

// One small change of `text`.
void MutateOnce(Random& random, std::string& text, const std::vector<std::string>& words,
                const std::vector<std::string>& seeds) {
  size_t at = Below(random, text.size() + 1);
  size_t length = Below(random, 24);
  switch (random() % 8) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, words[Below(random, words.size())]);
      break;
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 3:
      text.insert(at, text.substr(Below(random, text.size() + 1), length));
      break;
    case 4:
      text.replace(at, std::min(length, text.size() - at), words[Below(random, words.size())]);
      break;
    case 5: {
      const std::string& other = seeds[Below(random, seeds.size())];
      text.insert(at, other.substr(Below(random, other.size() + 1), length * 8));
      break;
    }
    case 6:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
      break;
    default:
      if (random() % 8 == 0) text.resize(at);
  }
}

bool LoadSeeds(const TargetRow& target, const Options& options, std::vector<std::string>& seeds) {
  const std::vector<std::string>& paths = options.paths;
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) {
      std::fprintf(stderr, "%s: no such seed\n", path.c_str());
      return false;
    }
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (target.seed != nullptr && !options.replay) bytes = target.seed(bytes);
    const bool is_seed = target.seed == nullptr || !bytes.empty();
    if (is_seed && bytes.size() <= kMaxSeedBytes) seeds.push_back(std::move(bytes));
  }
  return !seeds.empty();
}

// Runs one input; false if it took too long. The input is left in a file first, so that a crash can
// be replayed.
bool RunOne(const TargetRow& target, const std::string& input, double max_ms,
            const fs::path& last) {
  std::ofstream(last, std::ios::binary) << input;
  auto start = std::chrono::steady_clock::now();
  target.run(input);
  double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (ms <= max_ms) return true;
  std::fprintf(stderr, "%.0f ms for an input of %zu bytes: %s\n", ms, input.size(), last.c_str());
  return false;
}

bool ReadOptions(int argc, char** argv, Options& options) {
  auto number = [&](int& k, auto& value) {
    if (++k >= argc) return false;
    std::string_view text = argv[k];
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  };
  for (int k = 1; k < argc; ++k) {
    std::string_view word = argv[k];
    if (word == "--runs"     ? !number(k, options.runs)
        : word == "--seed"   ? !number(k, options.seed)
        : word == "--max-ms" ? !number(k, options.max_ms)
                             : false) {
      return false;
    }
    if (word == "--runs" || word == "--seed" || word == "--max-ms") continue;
    if (word == "--seeds-to") {
      if (++k >= argc) return false;
      options.seeds_to = argv[k];
    } else if (word == "--replay") {
      options.replay = true;
    } else if (options.target.empty()) {
      options.target = word;
    } else {
      options.paths.emplace_back(word);
    }
  }
  return !options.target.empty() && !options.paths.empty();
}

int WriteSeeds(const std::vector<std::string>& seeds, const fs::path& folder) {
  for (size_t k = 0; k < seeds.size(); ++k) {
    std::ofstream(folder / std::to_string(k), std::ios::binary) << seeds[k];
  }
  return 0;
}

int Fuzz(const TargetRow& target, const Options& options) {
  std::vector<std::string> seeds, words = Dictionary();
  if (!LoadSeeds(target, options, seeds)) {
    std::fprintf(stderr, "no seeds of at most %zu bytes\n", kMaxSeedBytes);
    return 2;
  }
  if (!options.seeds_to.empty()) return WriteSeeds(seeds, options.seeds_to);
  fs::path last = fs::temp_directory_path() /
                  ("hloscope-fuzz-" + options.target + "-" + std::to_string(options.seed));
  int64_t slow = 0;
  for (const std::string& seed : seeds) slow += RunOne(target, seed, options.max_ms, last) ? 0 : 1;
  if (options.replay) return slow == 0 ? 0 : 1;
  Random random(options.seed);
  for (int64_t run = 0; run < options.runs; ++run) {
    std::string input = seeds[Below(random, seeds.size())];
    for (size_t n = 1 + Below(random, 6); n > 0; --n) MutateOnce(random, input, words, seeds);
    slow += RunOne(target, input, options.max_ms, last) ? 0 : 1;
  }
  fs::remove(last);
  std::printf("%s: %zu seeds, %lld mutations with seed %llu, %lld over %.0f ms (%s)\n",
              options.target.c_str(), seeds.size(), static_cast<long long>(options.runs),
              static_cast<unsigned long long>(options.seed), static_cast<long long>(slow),
              options.max_ms, std::string(target.oracle).c_str());
  return slow == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hloscope::fuzz

int main(int argc, char** argv) {
  using namespace hloscope::fuzz;
  Options options;
  if (ReadOptions(argc, argv, options)) {
    for (const TargetRow& target : Targets()) {
      if (target.name == options.target) return Fuzz(target, options);
    }
  }
  std::fprintf(stderr,
               "usage: fuzz_driver TARGET [--runs N] [--seed S] [--max-ms MS] [--replay] "
               "[--seeds-to FOLDER] SEEDS…\ntargets:\n");
  for (const TargetRow& target : Targets()) {
    std::fprintf(stderr, "  %-8s %s\n", std::string(target.name).c_str(),
                 std::string(target.oracle).c_str());
  }
  return 2;
}
