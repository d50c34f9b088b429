#include "tests/replay/program_families.h"

#include <fmt/format.h>

#include <functional>
#include <ostream>

namespace hloscope::replay {
namespace {

using fmt::format;

constexpr const char* kAdd =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n";

// `computations` before an entry of parameter v0 and steps 1 to n, whose last value is the result.
std::string Chain(int n, const std::string& shape, const std::function<std::string(int)>& step,
                  const std::string& computations = {}) {
  std::string body;
  for (int k = 1; k <= n; ++k) body += "  " + step(k) + "\n";
  return format(
      "HloModule m\n{}{}ENTRY e {{\n  v0 = {} parameter(0)\n{}  ROOT out = {} copy(v{})\n}}\n",
      kAdd, computations, shape, body, shape, n);
}

// The list of name(0) to name(n - 1).
std::string List(int n, const std::function<std::string(int)>& name) {
  std::string list;
  for (int k = 0; k < n; ++k) list += (k == 0 ? "" : ", ") + name(k);
  return list;
}
std::string Numbered(const char* letter, int n) {
  return List(n, [&](int k) { return format("{}_{}", letter, k); });
}
std::string Tuple(const char* shape, int n) {
  return "(" + List(n, [&](int) { return std::string(shape); }) + ")";
}

std::string Elementwise(int n) {
  return Chain(n, "f32[64]", [](int k) { return format("v{} = f32[64] add(v{}, v0)", k, k - 1); });
}
std::string Squares(int n) {
  return Chain(n, "f32[64]",
               [](int k) { return format("v{0} = f32[64] multiply(v{1}, v{1})", k, k - 1); });
}
// Each step takes the array apart and puts it together, as a stage of Runge and Kutta's method
// does.
std::string Stacks(int n) {
  return Chain(n, "f32[3]", [](int k) {
    return format(
        "a_{0} = f32[1] slice(v{1}), slice={{[0:1]}} b_{0} = f32[1] slice(v{1}), slice={{[1:2]}} "
        "c_{0} = f32[1] slice(v{1}), slice={{[2:3]}} x_{0} = f32[1] subtract(b_{0}, a_{0}) "
        "y_{0} = f32[1] multiply(a_{0}, c_{0}) z_{0} = f32[1] add(y_{0}, b_{0}) "
        "s_{0} = f32[3] concatenate(x_{0}, y_{0}, z_{0}), dimensions={{0}} "
        "v{0} = f32[3] add(s_{0}, v{1})",
        k, k - 1);
  });
}
std::string LargeStacks(int n) {
  return Chain(n, "f32[3000]", [](int k) {
    return format(
        "a_{0} = f32[1000] slice(v{1}), slice={{[0:1000]}} "
        "b_{0} = f32[1000] slice(v{1}), slice={{[1000:2000]}} "
        "c_{0} = f32[1000] slice(v{1}), slice={{[2000:3000]}} "
        "x_{0} = f32[1000] subtract(b_{0}, a_{0}) y_{0} = f32[1000] multiply(a_{0}, c_{0}) "
        "z_{0} = f32[1000] add(y_{0}, b_{0}) "
        "s_{0} = f32[3000] concatenate(x_{0}, y_{0}, z_{0}), dimensions={{0}} "
        "v{0} = f32[3000] add(s_{0}, v{1})",
        k, k - 1);
  });
}
std::string SlicesOfOne(int n) {
  std::string body;
  for (int k = 0; k < n; ++k) {
    body +=
        format("  s_{0} = f32[16] slice(p), slice={{[{1}:{2}]}}\n  t_{0} = f32[16] negate(s_{0})\n",
               k, 16 * k, 16 * k + 16);
  }
  return format(
      "HloModule m\nENTRY e {{\n  p = f32[{0}] parameter(0)\n{1}"
      "  ROOT r = f32[{0}] concatenate({2}), dimensions={{0}}\n}}\n",
      16 * n, body, Numbered("t", n));
}
std::string ConcatenatedParameters(int n) {
  std::string body;
  for (int k = 0; k < n; ++k) body += format("  p_{0} = f32[8,8] parameter({0})\n", k);
  return format(
      "HloModule m\nENTRY e {{\n{}  ROOT r = f32[8,{}] concatenate({}), dimensions={{1}}\n}}\n",
      body, 8 * n, Numbered("p", n));
}
std::string Appends(int n) {
  std::string body = "  v0 = f32[8] parameter(0)\n";
  for (int k = 1; k <= n; ++k) {
    body +=
        format("  v{} = f32[{}] concatenate(v{}, v0), dimensions={{0}}\n", k, 8 * (k + 1), k - 1);
  }
  return format("HloModule m\nENTRY e {{\n{}  ROOT r = f32[{}] negate(v{})\n}}\n", body,
                8 * (n + 1), n);
}
std::string Pads(int n) {
  std::string body = "  z = f32[] constant(0)\n  v0 = f32[64] parameter(0)\n";
  for (int k = 1; k <= n; ++k) {
    body += format("  v{} = f32[{}] pad(v{}, z), padding=1_1\n", k, 64 + 2 * k, k - 1);
  }
  return format("HloModule m\nENTRY e {{\n{}  ROOT r = f32[{}] negate(v{})\n}}\n", body, 64 + 2 * n,
                n);
}
std::string Reversed(int n) {
  return Chain(n, "f32[64]", [](int k) {
    return format("r_{0} = f32[64] reverse(v{1}), dimensions={{0}} v{0} = f32[64] add(v{1}, r_{0})",
                  k, k - 1);
  });
}
std::string Transposed(int n) {
  return Chain(n, "f32[16,16]", [](int k) {
    return format(
        "t_{0} = f32[16,16] transpose(v{1}), dimensions={{1,0}} "
        "v{0} = f32[16,16] add(v{1}, t_{0})",
        k, k - 1);
  });
}
std::string Rolled(int n) {
  return Chain(n, "f32[2048]", [](int k) {
    return format(
        "a_{0} = f32[2047] slice(v{1}), slice={{[1:2048]}} "
        "b_{0} = f32[1] slice(v{1}), slice={{[0:1]}} "
        "c_{0} = f32[2048] concatenate(a_{0}, b_{0}), dimensions={{0}} "
        "v{0} = f32[2048] add(v{1}, c_{0})",
        k, k - 1);
  });
}
std::string Rows(int n) {
  return Chain(n, "f32[16,16]", [](int k) {
    return format(
        "s_{0} = f32[1,16] slice(v{1}), slice={{[0:1], [0:16]}} "
        "r_{0} = f32[16] reshape(s_{0}) b_{0} = f32[16,16] broadcast(r_{0}), dimensions={{0}} "
        "v{0} = f32[16,16] add(v{1}, b_{0})",
        k, k - 1);
  });
}
std::string Reshaped(int n) {
  return Chain(n, "f32[64]", [](int k) {
    return format(
        "a_{0} = f32[8,8] reshape(v{1}) b_{0} = f32[8,8] transpose(a_{0}), dimensions={{1,0}} "
        "v{0} = f32[64] reshape(b_{0})",
        k, k - 1);
  });
}
std::string Converted(int n) {
  return Chain(n, "f32[64]", [](int k) {
    return format(
        "c_{0} = s32[64] convert(v{1}) d_{0} = f32[64] convert(c_{0}) "
        "v{0} = f32[64] add(v{1}, d_{0})",
        k, k - 1);
  });
}
std::string Selected(int n) {
  return Chain(n, "f32[64]", [](int k) {
    return format(
        "c_{0} = pred[64] compare(v{1}, v0), direction=LT "
        "n_{0} = f32[64] negate(v{1}) v{0} = f32[64] select(c_{0}, n_{0}, v{1})",
        k, k - 1);
  });
}
std::string Reduced(int n) {
  return Chain(n, "f32[8,64]", [](int k) {
    return format(
        "z_{0} = f32[] constant(0) "
        "s_{0} = f32[8] reduce(v{1}, z_{0}), dimensions={{1}}, to_apply=add "
        "b_{0} = f32[8,64] broadcast(s_{0}), dimensions={{0}} "
        "v{0} = f32[8,64] subtract(v{1}, b_{0})",
        k, k - 1);
  });
}
std::string ReducesOfOne(int n) {
  std::string body;
  for (int k = 0; k < n; ++k) {
    body += format(
        "  c_{0} = f32[] constant({0}) b_{0} = f32[8,64] broadcast(c_{0}), dimensions={{}} "
        "m_{0} = f32[8,64] multiply(v, b_{0}) "
        "r_{0} = f32[8] reduce(m_{0}, z), dimensions={{1}}, to_apply=add\n",
        k);
  }
  return format(
      "HloModule m\n{}ENTRY e {{\n  p = f32[8,64] parameter(0)\n  z = f32[] constant(0)\n"
      "  v = f32[8,64] tanh(p)\n{}  ROOT t = {} tuple({})\n}}\n",
      kAdd, body, Tuple("f32[8]", n), Numbered("r", n));
}
std::string Dots(int n) {
  return Chain(n, "f32[8,8]", [](int k) {
    return format(
        "d_{0} = f32[8,8] dot(v{1}, v0), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={{0}} v{0} = f32[8,8] tanh(d_{0})",
        k, k - 1);
  });
}
std::string Updates(int n) {
  return Chain(n, "f32[64,8]", [](int k) {
    return format(
        "i_{0} = s32[] constant({2}) o_{0} = s32[] constant(0) "
        "u_{0} = f32[1,8] slice(v{1}), slice={{[{3}:{4}], [0:8]}} "
        "w_{0} = f32[1,8] negate(u_{0}) "
        "v{0} = f32[64,8] dynamic-update-slice(v{1}, w_{0}, i_{0}, o_{0})",
        k, k - 1, k % 64, (k + 1) % 64, (k + 1) % 64 + 1);
  });
}
std::string Scatters(int n) {
  return Chain(n, "f32[64]", [](int k) {
    return format(
        "i_{0} = s32[2,1] constant({{{{1}},{{5}}}}) "
        "u_{0} = f32[2] slice(v{1}), slice={{[0:2]}} "
        "v{0} = f32[64] scatter(v{1}, i_{0}, u_{0}), update_window_dims={{}}, "
        "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
        "index_vector_dim=1, to_apply=add",
        k, k - 1);
  });
}
std::string Windows(int n) {
  return Chain(n, "f32[64]", [](int k) {
    return format(
        "z_{0} = f32[] constant(0) v{0} = f32[64] reduce-window(v{1}, z_{0}), "
        "window={{size=3 pad=1_1}}, to_apply=add",
        k, k - 1);
  });
}
std::string Calls(int n) {
  return Chain(
      n, "f32[64]", [](int k) { return format("v{} = f32[64] call(v{}), to_apply=f", k, k - 1); },
      "f { p = f32[64] parameter(0) ROOT r = f32[64] tanh(p) }\n");
}
std::string NestedCalls(int n) {
  std::string text = "HloModule m\nf_0 { p = f32[64] parameter(0) ROOT r = f32[64] tanh(p) }\n";
  for (int k = 1; k < n; ++k) {
    text += format(
        "f_{0} {{ p = f32[64] parameter(0) c = f32[64] call(p), to_apply=f_{1} "
        "a = f32[64] add(c, p) ROOT r = f32[64] add(a, p) }}\n",
        k, k - 1);
  }
  return text +
         format("ENTRY e {{ p = f32[64] parameter(0) ROOT r = f32[64] call(p), to_apply=f_{} }}\n",
                n - 1);
}
// Each computation chooses twice between the next one and another: 2^n ways, of which one is run.
std::string SharedBranches(int n) {
  std::string text =
      "HloModule m\nid { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n"
      "f_0 { p = f32[] parameter(0) ROOT r = f32[] tanh(p) }\n";
  for (int k = 1; k < n; ++k) {
    text += format(
        "f_{0} {{ p = f32[] parameter(0) z = f32[] constant({0}) c = pred[] compare(p, z), "
        "direction=LT a = f32[] conditional(c, p, p), true_computation=f_{1}, false_computation=id "
        "d = pred[] compare(p, z), direction=GT "
        "ROOT r = f32[] conditional(d, a, p), true_computation=f_{1}, false_computation=id }}\n",
        k, k - 1);
  }
  return text +
         format("ENTRY e {{ p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=f_{} }}\n",
                n - 1);
}
std::string Conditionals(int n) {
  return Chain(
      n, "f32[]",
      [](int k) {
        return format(
            "c_{0} = pred[] compare(v{1}, v0), direction=LT "
            "v{0} = f32[] conditional(c_{0}, v{1}, v{1}), true_computation=t, "
            "false_computation=f",
            k, k - 1);
      },
      "t { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n"
      "f { p = f32[] parameter(0) ROOT r = f32[] tanh(p) }\n");
}

constexpr const char* kLoop =
    "body { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 "
    "x = f32[] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one) "
    "y = f32[] tanh(x) ROOT t = (s32[], f32[]) tuple(j, y) }\n"
    "less { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 "
    "n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }\n";

std::string Loops(int n) {
  return Chain(
      n, "f32[]",
      [](int k) {
        return format(
            "z_{0} = s32[] constant(0) s_{0} = (s32[], f32[]) tuple(z_{0}, v{1}) "
            "w_{0} = (s32[], f32[]) while(s_{0}), condition=less, body=body "
            "v{0} = f32[] get-tuple-element(w_{0}), index=1",
            k, k - 1);
      },
      kLoop);
}
std::string NestedLoops(int n) {
  std::string text = "HloModule m\n" + std::string(kLoop);
  for (int k = 1; k < n; ++k) {
    text += format(
        "body{0} {{ s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 "
        "x = f32[] get-tuple-element(s), index=1 z = s32[] constant(2) "
        "t = (s32[], f32[]) tuple(z, x) w = (s32[], f32[]) while(t), condition=less, body=body{1} "
        "y = f32[] get-tuple-element(w), index=1 j = s32[] add(i, z) "
        "ROOT r = (s32[], f32[]) tuple(j, y) }}\n",
        k, k == 1 ? "" : std::to_string(k - 1));
  }
  return text + format(
                    "ENTRY e {{ x = f32[] parameter(0) z = s32[] constant(2) "
                    "t = (s32[], f32[]) tuple(z, x) "
                    "ROOT w = (s32[], f32[]) while(t), condition=less, body=body{} }}\n",
                    n == 1 ? "" : std::to_string(n - 1));
}
// A loop over n arrays, of which each is changed, or all but the first are only carried.
std::string StateOf(int n, bool changes) {
  const std::string shape = "(s32[], " + Tuple("f32[4]", n).substr(1);
  std::string body, initial;
  for (int k = 0; k < n; ++k) {
    body += format(" g_{0} = f32[4] get-tuple-element(s), index={1} x_{0} = f32[4] {2}(g_{0})", k,
                   k + 1, changes || k == 0 ? "tanh" : "copy");
    initial += format("  p_{0} = f32[4] parameter({0})\n", k);
  }
  return format(
      "HloModule m\nbody {{ s = {0} parameter(0) i = s32[] get-tuple-element(s), index=0 "
      "one = s32[] constant(1) j = s32[] add(i, one){1} ROOT t = {0} tuple(j, {2}) }}\n"
      "less {{ s = {0} parameter(0) i = s32[] get-tuple-element(s), index=0 "
      "n = s32[] constant(3) ROOT c = pred[] compare(i, n), direction=LT }}\n"
      "ENTRY e {{\n{3}  z = s32[] constant(0)\n  t = {0} tuple(z, {4})\n"
      "  ROOT w = {0} while(t), condition=less, body=body\n}}\n",
      shape, body, Numbered("x", n), initial, Numbered("p", n));
}
std::string ChangedState(int n) { return StateOf(n, true); }
std::string CarriedState(int n) { return StateOf(n, false); }
std::string Results(int n) {
  std::string body;
  for (int k = 0; k < n; ++k) {
    body += format("  p_{0} = f32[4] parameter({0})\n  n_{0} = f32[4] negate(p_{0})\n", k);
  }
  return format("HloModule m\nENTRY e {{\n{}  ROOT t = {} tuple({})\n}}\n", body,
                Tuple("f32[4]", n), Numbered("n", n));
}
std::string PassedThrough(int n) {
  std::string body;
  for (int k = 0; k < n; ++k) body += format("  p_{0} = f32[4] parameter({0})\n", k);
  return format("HloModule m\nENTRY e {{\n{}  ROOT t = {} tuple({})\n}}\n", body,
                Tuple("f32[4]", n), Numbered("p", n));
}
std::string Sorts(int n) {
  return Chain(
      n, "f32[64]",
      [](int k) {
        return format(
            "s_{0} = f32[64] sort(v{1}), dimensions={{0}}, to_apply=below "
            "v{0} = f32[64] add(s_{0}, v0)",
            k, k - 1);
      },
      "below { a = f32[] parameter(0) b = f32[] parameter(1) "
      "ROOT c = pred[] compare(a, b), direction=LT }\n");
}
std::string Gathers(int n) {
  return Chain(n, "f32[64]", [](int k) {
    return format(
        "i_{0} = s32[64] convert(v{1}) r_{0} = s32[64,1] reshape(i_{0}) "
        "g_{0} = f32[64] gather(v{1}, r_{0}), offset_dims={{}}, collapsed_slice_dims={{0}}, "
        "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}} "
        "v{0} = f32[64] add(v{1}, g_{0})",
        k, k - 1);
  });
}
std::string Devices(int n) {
  const std::string group = List(n, [](int k) { return std::to_string(k); });
  return format(
      "HloModule m, num_partitions={}\n{}ENTRY e {{\n  p = f32[8] parameter(0)\n"
      "  ROOT r = f32[8] all-reduce(p), channel_id=1, replica_groups={{{{{}}}}}, "
      "use_global_device_ids=true, to_apply=add\n}}\n",
      n, kAdd, group);
}

constexpr ProgramFamily kFamilies[] = {
    {"Elementwise", 200, Elementwise},
    {"Squares", 200, Squares},
    {"Stacks", 20, Stacks},
    {"LargeStacks", 10, LargeStacks},
    {"SlicesOfOne", 100, SlicesOfOne},
    {"ConcatenatedParameters", 100, ConcatenatedParameters},
    {"Appends", 30, Appends},
    {"Pads", 20, Pads},
    {"Reversed", 40, Reversed},
    {"Transposed", 40, Transposed},
    {"Rolled", 10, Rolled},
    {"Rows", 40, Rows},
    {"Reshaped", 50, Reshaped},
    {"Converted", 50, Converted},
    {"Selected", 50, Selected},
    {"Reduced", 20, Reduced},
    {"ReducesOfOne", 20, ReducesOfOne},
    {"Dots", 20, Dots},
    {"Updates", 30, Updates},
    {"Scatters", 20, Scatters},
    {"Windows", 20, Windows},
    {"Calls", 100, Calls},
    {"NestedCalls", 50, NestedCalls},
    {"SharedBranches", 20, SharedBranches},
    {"Conditionals", 30, Conditionals},
    {"Loops", 20, Loops},
    {"NestedLoops", 5, NestedLoops},
    {"ChangedState", 100, ChangedState},
    {"CarriedState", 100, CarriedState},
    {"Results", 300, Results},
    {"PassedThrough", 500, PassedThrough},
    {"Sorts", 10, Sorts},
    {"Gathers", 20, Gathers},
    {"Devices", 4, Devices},
};

}  // namespace

void PrintTo(const ProgramFamily& family, std::ostream* out) { *out << family.name; }

const std::span<const ProgramFamily> kProgramFamilies = kFamilies;

}  // namespace hloscope::replay
