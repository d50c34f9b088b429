// Every PTX file of the corpus is read.
#include "tests/ptx/corpus.h"

#include <gtest/gtest.h>

#include "core/ptx/ir/decode.h"
#include "core/ptx/text/parser.h"

namespace hloscope::ptx {
namespace {

TEST(PtxCorpus, EveryFileParses) {
  const auto files = CorpusFiles();
  size_t entries = 0;
  for (const std::string& file : files) {
    const auto syntax = ParseText(ReadAll(file), file);
    ASSERT_TRUE(syntax.has_value()) << syntax.error().ToString();
    entries += syntax->entries.size();
  }
  EXPECT_GE(files.size(), 21u);
  EXPECT_GT(entries, 20u);
}

TEST(PtxCorpus, EveryInstructionDecodes) {
  size_t instructions = 0;
  for (const std::string& file : CorpusFiles()) {
    auto syntax = ParseText(ReadAll(file), file);
    ASSERT_TRUE(syntax.has_value()) << syntax.error().ToString();
    const Program program = Decode(*std::move(syntax));
    for (const Kernel& kernel : program.kernels) {
      instructions += kernel.instructions.size();
      for (const Error& error : kernel.unsupported) ADD_FAILURE() << error.ToString();
    }
  }
  EXPECT_GT(instructions, 1000u);
}

}  // namespace
}  // namespace hloscope::ptx
