// What-if of memory: every number by hand, of a module whose temporaries are known by place and
// life, and what the panel makes of them.
#include "viewer/facts/memory/what_if.h"

#include <filesystem>
#include <vector>

#include "core/base/file.h"
#include "tests/viewer/reading_fixture.h"

namespace hloscope::viewer {
namespace {

using analysis::MemoryChange;
using analysis::ValueChange;

constexpr std::string_view kModule = R"(HloModule m, is_scheduled=true

ENTRY e {
  w = bf16[64,64]{1,0} parameter(0)
  v = f32[64,64]{1,0} parameter(1)
  s = f32[] parameter(2)
  m = f32[64,64]{1,0} broadcast(s), dimensions={}
  c = f32[64,64]{1,0} convert(w)
  t = f32[64,64]{0,1} copy(v)
  d = f32[64,64]{1,0} dot(c, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[64,64]{1,0} dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[64,64]{1,0} add(g, m)
}
)";
constexpr int64_t kSize = 16384;  // of each f32[64,64]
// Temporaries m, c, t and d live at once while d is computed.
constexpr std::string_view kBuffers = R"(BufferAssignment:
allocation 0: size 8192, page 0, parameter 0, shape |bf16[64,64]| at ShapeIndex {}:
 value: <0 w @0> (size=8192,offset=0): bf16[64,64]{1,0}
allocation 1: size 16384, page 0, parameter 1, shape |f32[64,64]| at ShapeIndex {}:
 value: <1 v @0> (size=16384,offset=0): f32[64,64]{1,0}
allocation 2: size 4, page 0, parameter 2, shape |f32[]| at ShapeIndex {}:
 value: <2 s @0> (size=4,offset=0): f32[]
allocation 3: size 16384, page 0, maybe-live-out:
 value: <3 r @0> (size=16384,offset=0): f32[64,64]{1,0}
 value: <4 g @0> (size=16384,offset=0): f32[64,64]{1,0}
allocation 4: size 65536, page 0, preallocated-temp:
 value: <10 m @0> (size=16384,offset=49152): f32[64,64]{1,0}
 value: <11 c @0> (size=16384,offset=0): f32[64,64]{1,0}
 value: <12 t @0> (size=16384,offset=16384): f32[64,64]{0,1}
 value: <13 d @0> (size=16384,offset=32768): f32[64,64]{1,0}

Total bytes used: 106500
)";
constexpr std::string_view kLives = R"(HloLiveRange (max 9):
  InstructionSequence:
    0:w
    1:v
    2:s
    3:m
    4:c
    5:t
    6:d
    7:g
    8:r
  BufferLiveRange:
    w{}:0-9
    v{}:0-9
    s{}:0-9
    g{}:7-8
    r{}:8-9
    m{}:3-8
    c{}:4-7
    t{}:5-6
    d{}:6-7
  Live ranges at 6 (peak):
)";
constexpr int64_t kPeak = 106500;

class WhatIfTest : public ReadingTest {
 protected:
  std::string Write() {
    std::filesystem::create_directories(Scratch("dump"));
    const std::string name = Scratch("dump") + "/module_0000.m.cpu_after_optimizations";
    EXPECT_TRUE(WriteFileAtomically(Scratch("dump") + "/module_0000.m.before_optimizations.txt",
                                    std::string(kModule)));
    EXPECT_TRUE(WriteFileAtomically(name + ".txt", std::string(kModule)));
    EXPECT_TRUE(WriteFileAtomically(name + "-buffer-assignment.txt", std::string(kBuffers)));
    EXPECT_TRUE(WriteFileAtomically(name + "-live-range.txt", std::string(kLives)));
    return Scratch("dump");
  }
  void Open() {
    Start({Write()});
    Press("Ctrl+6");
    session().requests.Show("what-if");
    Settle();
    ASSERT_TRUE(DrawUntil(
        [this] { return WhatIfOf(session(), 0) != nullptr && WhatIfOf(session(), 0)->ready(); }));
    Settle();
  }
  const WhatIf& All() { return **WhatIfOf(session(), 0); }
  int32_t ValueOf(std::string_view name) {
    const auto& values = All().engine->table().values;
    for (size_t v = 0; v < values.size(); ++v) {
      if (values[v].instruction == name) return static_cast<int32_t>(v);
    }
    ADD_FAILURE() << name;
    return -1;
  }
  int64_t Saved(std::string_view name, MemoryChange change) {
    const ValueChange one{ValueOf(name), change};
    return kPeak - All().engine->PeakWith(std::span(&one, 1));
  }
  std::string WhyNot(std::string_view name, MemoryChange change) {
    return All().engine->WhyNot({ValueOf(name), change});
  }
};

TEST_F(WhatIfTest, EachChangeByHand) {
  Open();
  EXPECT_EQ(All().engine->PeakWith({}), kPeak);
  // Three of four temporaries live at once.
  EXPECT_EQ(Saved("m", MemoryChange::kDrop), kSize);
  EXPECT_EQ(Saved("m", MemoryChange::kBf16), kSize / 2);
  // Computed again when d is dead, and made of an argument: c, t, d, then c, d, m.
  EXPECT_EQ(Saved("m", MemoryChange::kRematerialize), kSize);
  EXPECT_EQ(WhyNot("c", MemoryChange::kRematerialize), "it is written or read at the peak");
  EXPECT_EQ(WhyNot("v", MemoryChange::kRematerialize), "it is a parameter");
  EXPECT_EQ(WhyNot("m", MemoryChange::kDonate), "it is not an argument");
  // r takes the memory of v; g, which was in that of r, joins m, c and d: no more than before.
  EXPECT_EQ(Saved("v", MemoryChange::kDonate), kSize);
  EXPECT_EQ(Saved("v", MemoryChange::kBf16), kSize / 2);
  EXPECT_EQ(Saved("v", MemoryChange::kDrop), kSize);
  EXPECT_EQ(WhyNot("w", MemoryChange::kBf16), "it is not f32 or f64");
  EXPECT_EQ(WhyNot("w", MemoryChange::kDonate).substr(0, 21), "it is donated already");
  EXPECT_EQ(WhyNot("r", MemoryChange::kDrop), "it is a result");
  EXPECT_EQ(Saved("r", MemoryChange::kBf16), 0);  // g needs its memory before
  // Together: m in bf16 and v donated.
  const std::vector<ValueChange> both = {{ValueOf("m"), MemoryChange::kBf16},
                                         {ValueOf("v"), MemoryChange::kDonate}};
  EXPECT_EQ(kPeak - All().engine->PeakWith(both), kSize / 2 + kSize);
  // What is dropped cannot be narrower as well.
  const std::vector<ValueChange> twice = {{ValueOf("m"), MemoryChange::kDrop},
                                          {ValueOf("m"), MemoryChange::kBf16}};
  EXPECT_EQ(kPeak - All().engine->PeakWith(twice), kSize);
}

// What a value is made of has to live until it is computed again.
TEST_F(WhatIfTest, OperandsLiveUntilAValueIsComputedAgain) {
  Open();
  // t is read at the peak; of g nothing is read after it.
  EXPECT_EQ(WhyNot("t", MemoryChange::kRematerialize), "it is written or read at the peak");
  EXPECT_EQ(WhyNot("g", MemoryChange::kRematerialize), "it is in the memory of a result");
}

TEST_F(WhatIfTest, ThePanelAddsUpWhatIsChosen) {
  Open();
  ExpectSeen("what-if", "106 kB of allocations now; select changes");
  Click("//###memory.what-if/**/−16.4 kB##3");
  Settle();
  ExpectSeen("what-if", "106 kB of allocations now, 90.1 kB with 1 change: −16.4 kB (estimate");
  const std::string chosen = HighlightedItems("what-if");
  EXPECT_TRUE(chosen.starts_with("drop ")) << chosen;
  Press("Ctrl+Z");
  EXPECT_EQ(HighlightedItems("what-if"), "");
  Click("//###memory.what-if/**/m##value");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kBuffer);
}

// A choice goes by the place of a value in its table; another dump has another.
TEST_F(WhatIfTest, AnotherDumpHasNoChoices) {
  Open();
  Click("//###memory.what-if/**/−16.4 kB##3");
  EXPECT_NE(HighlightedItems("what-if"), "");
  const std::string folder = Scratch("small");
  std::filesystem::create_directories(folder);
  const std::string name = folder + "/module_0000.m.cpu_after_optimizations";
  ASSERT_TRUE(WriteFileAtomically(name + ".txt", R"(HloModule m, is_scheduled=true

ENTRY e {
  w = f32[64,64]{1,0} parameter(0)
  ROOT r = f32[64,64]{1,0} negate(w)
}
)"));
  ASSERT_TRUE(WriteFileAtomically(name + "-buffer-assignment.txt", R"(BufferAssignment:
allocation 0: size 16384, page 0, parameter 0, shape |f32[64,64]| at ShapeIndex {}:
 value: <0 w @0> (size=16384,offset=0): f32[64,64]{1,0}

Total bytes used: 16384
)"));
  session().Replace({folder});
  Settle();
  DrawUntil(
      [this] { return WhatIfOf(session(), 0) != nullptr && WhatIfOf(session(), 0)->ready(); });
  Settle();
  EXPECT_EQ(HighlightedItems("what-if"), "");
  EXPECT_EQ(All().engine->WhyNot({99, MemoryChange::kDrop}), "there is no such value");
  EXPECT_EQ(All().engine->WhyNot({-1, MemoryChange::kDonate}), "there is no such value");
}

}  // namespace
}  // namespace hloscope::viewer
