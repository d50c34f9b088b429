// Every PTX file of the corpus is read.
#include "tests/ptx/corpus.h"

#include <gtest/gtest.h>

#include <random>

#include "core/ptx/ptx.h"

namespace hloscope::ptx {
namespace {

TEST(PtxCorpus, EveryInstructionIsExecuted) {
  const auto files = CorpusFiles();
  size_t entries = 0, instructions = 0, unsupported = 0;
  for (const std::string& file : files) {
    const auto module = Module::Parse(ReadAll(file), file);
    ASSERT_TRUE(module.has_value()) << module.error().ToString();
    for (const EntryInfo& entry : module->entries()) {
      ++entries;
      instructions += entry.instructions;
      unsupported += entry.unsupported.size();
      for (const Error& error : entry.unsupported) ADD_FAILURE() << error.ToString();
    }
  }
  EXPECT_GE(files.size(), 50u);
  EXPECT_GT(entries, 50u);
  RecordProperty("files", static_cast<int>(files.size()));
  RecordProperty("entries", static_cast<int>(entries));
  RecordProperty("instructions", static_cast<int>(instructions));
  RecordProperty("unsupported", static_cast<int>(unsupported));
}

// One edit: most keep the text readable (another digit, a line less or twice), so that what runs is
// wrong.
template <typename Below>
void Mutate(std::string& text, const std::string& other, Below below) {
  const size_t at = below(text.size()), length = 1 + below(20);
  const size_t digit = text.find_first_of("0123456789", at);
  const size_t start = text.find('\n', at),
               end = start == std::string::npos ? start : text.find('\n', start + 1);
  switch (below(8)) {
    case 0:
      text[at] = static_cast<char>(32 + below(95));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, other.substr(below(other.size()), length));
      break;
    case 3:
      if (end != std::string::npos) text.erase(start, end - start);
      break;
    case 4:
      if (end != std::string::npos) text.insert(start, text.substr(start, end - start));
      break;
    default:
      if (digit != std::string::npos) text[digit] = static_cast<char>('0' + below(10));
      break;
  }
  if (text.empty()) text = "x";
}

// Texts with bytes changed, removed and doubled: an error or a module, never a crash, and launches
// stay within their bounds.
TEST(PtxCorpus, MutatedTextsNeverCrash) {
  std::vector<std::string> texts;
  for (const std::string& file : CorpusFiles()) {
    std::string text = ReadAll(file);
    if (!text.empty() && text.size() < 12'000 && texts.size() < 40)
      texts.push_back(std::move(text));
  }
  std::mt19937 random(7);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  size_t launched = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = texts[below(texts.size())];
    const std::string& other = texts[below(texts.size())];
    for (size_t edits = 1 + below(3); edits > 0; --edits) Mutate(text, other, below);
    const auto module = Module::Parse(std::move(text), "mutant.ptx");
    if (!module.has_value()) continue;
    for (const EntryInfo& entry : module->entries()) {
      if (!entry.unsupported.empty()) continue;
      LaunchRequest request;
      request.entry = entry.name;
      request.block = {32, 1, 1};
      for (int i = 0; i < 3; ++i) {
        if (entry.required_threads[i] != 0) request.block[i] = entry.required_threads[i];
      }
      request.dynamic_shared_bytes = 1 << 16;
      std::vector<std::vector<std::byte>> memory(entry.parameters.size(),
                                                 std::vector<std::byte>(4096));
      for (size_t i = 0; i < memory.size(); ++i) {
        Argument argument{memory[i], {}};
        if (entry.parameters[i].bytes != 8) argument.value.emplace(entry.parameters[i].bytes);
        request.arguments.push_back(std::move(argument));
      }
      LaunchOptions options;
      options.steps = 20'000;
      options.memory_bytes = 64 << 20;
      (void)Launch(*module, request, options);
      ++launched;
    }
  }
  EXPECT_GT(launched, 20u);
}

}  // namespace
}  // namespace hloscope::ptx
