// Work of families of programs as they grow: allocations and steps that are counted, of compiling
// and of running, for n, 2n and 4n. Between 2n and 4n linear work grows twice as much as between n
// and 2n, quadratic work four times.
#include <algorithm>

#include "core/base/work_count.h"
#include "tests/replay/checked_runs.h"
#include "tests/replay/program_families.h"

namespace hloscope::replay {
namespace {

struct Work {
  uint64_t compile = 0, run = 0;
};

Work WorkOf(const std::string& text) {
  Work work;
  RunOptions options;
  options.budget.threads = 1;
  options.load.object_cache = false;
  const auto module = hlo::Parsed(text);
  std::vector<hlo::Literal> arguments;
  for (const hlo::InstructionId parameter : module->Parameters(module->entry_id())) {
    const hlo::Shape& shape = module->shape(parameter);
    arguments.push_back(
        hlo::Literal::Dense(shape, std::vector<std::byte>(static_cast<size_t>(*shape.ByteSize()))));
  }
  std::vector<std::vector<hlo::Literal>> inputs(
      static_cast<size_t>(module->header().num_partitions), arguments);
  const auto platform = *MakePlatform("cpu");
  const uint64_t before = WorkCount();
  const auto executable = platform->Load(module, options);
  EXPECT_TRUE(executable.has_value()) << executable.error().ToString();
  if (!executable.has_value()) return work;
  const uint64_t compiled = WorkCount();
  Events events;
  const auto run = (*executable)->Run(inputs, options, events);
  EXPECT_TRUE(run.has_value()) << run.error().ToString();
  work.compile = compiled - before;
  work.run = WorkCount() - compiled;
  for (const RunFallback* each : events.Of<RunFallback>()) {
    ADD_FAILURE() << each->instruction << ": " << each->reason;
  }
  return work;
}

void ExpectLinear(const char* what, uint64_t one, uint64_t two, uint64_t four) {
  constexpr double kMaxGrowth = 2.7;
  // What does not grow by much is noise; quadratic work is past this.
  const double small = 2000 + static_cast<double>(one) / 4;
  const double first = std::max(0.0, static_cast<double>(two) - static_cast<double>(one));
  const double second = static_cast<double>(four) - static_cast<double>(two);
  EXPECT_LE(second, kMaxGrowth * first + small)
      << what << ": " << one << ", " << two << " and " << four;
}

class Scaling : public testing::TestWithParam<ProgramFamily> {};

TEST_P(Scaling, IsLinear) {
  const ProgramFamily& family = GetParam();
  WorkOf(family.text(family.size));  // what is set up once
  const Work one = WorkOf(family.text(family.size)), two = WorkOf(family.text(2 * family.size)),
             four = WorkOf(family.text(4 * family.size));
  ExpectLinear("compile", one.compile, two.compile, four.compile);
  ExpectLinear("run", one.run, two.run, four.run);
}

INSTANTIATE_TEST_SUITE_P(Families, Scaling, testing::ValuesIn(kProgramFamilies),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace hloscope::replay
