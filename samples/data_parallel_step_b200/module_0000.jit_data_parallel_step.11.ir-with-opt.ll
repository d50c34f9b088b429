; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_subtract_fusion_1(ptr noalias nofree readonly align 16 captures(none) dereferenceable(2048) %0, ptr noalias nofree readonly align 256 captures(none) dereferenceable(2048) %1, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(2048) %2) local_unnamed_addr #0 {
  %4 = addrspacecast ptr %1 to ptr addrspace(1)
  %5 = addrspacecast ptr %0 to ptr addrspace(1)
  %6 = addrspacecast ptr %2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !2
  %8 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !3
  %9 = shl nuw nsw i32 %7, 7
  %10 = or disjoint i32 %9, %8
  %11 = zext nneg i32 %10 to i64
  %12 = getelementptr inbounds [4 x i8], ptr addrspace(1) %4, i64 %11
  %13 = load float, ptr addrspace(1) %12, align 4, !invariant.load !0
  %14 = getelementptr inbounds [4 x i8], ptr addrspace(1) %5, i64 %11
  %15 = load float, ptr addrspace(1) %14, align 4, !invariant.load !0
  %16 = fmul float %13, 1.000000e-01
  %17 = fsub float %15, %16
  %18 = getelementptr inbounds [4 x i8], ptr addrspace(1) %6, i64 %11
  store float %17, ptr addrspace(1) %18, align 4
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!1, !4}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 0, i32 4}
!3 = !{i32 0, i32 128}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
