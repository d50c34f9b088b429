; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_add_multiply_fusion(ptr noalias nofree readonly align 256 captures(none) dereferenceable(4) %0, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(4) initializes((0, 4)) %1, ptr noalias nofree writeonly align 16 captures(none) dereferenceable(4) initializes((0, 4)) %2) local_unnamed_addr #0 {
  %4 = addrspacecast ptr %0 to ptr addrspace(1)
  %5 = addrspacecast ptr %1 to ptr addrspace(1)
  %6 = addrspacecast ptr %2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %7 = load float, ptr addrspace(1) %4, align 256, !invariant.load !0
  %8 = fadd float %7, 1.000000e+00
  %9 = fmul float %8, f0x3C23D70A
  %10 = tail call nsz float @llvm.minimum.f32(float %9, float 1.000000e+00)
  %11 = fmul float %10, 3.000000e-04
  store float %11, ptr addrspace(1) %5, align 256
  store float %8, ptr addrspace(1) %6, align 16
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.minimum.f32(float, float) #2

attributes #0 = { nounwind "nvvm.reqntid"="1,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!1, !2}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
