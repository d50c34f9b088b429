; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @input_reduce_fusion_103(ptr noalias nofree readonly align 256 captures(none) dereferenceable(4194304) %0, ptr noalias nofree writeonly align 256 captures(none) dereferenceable(32768) %1) local_unnamed_addr #0 {
  %3 = addrspacecast ptr %0 to ptr addrspace(1)
  %4 = addrspacecast ptr %1 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %5 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !2
  %6 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !3
  %7 = and i32 %5, 31
  %8 = shl nuw nsw i32 %7, 1
  %9 = lshr i32 %5, 5
  %10 = shl nuw nsw i32 %9, 7
  %11 = or disjoint i32 %8, %10
  %12 = shl nuw nsw i32 %6, 10
  %13 = or disjoint i32 %11, %12
  %14 = zext nneg i32 %13 to i64
  %15 = getelementptr inbounds [4 x i8], ptr addrspace(1) %3, i64 %14
  %16 = load <2 x float>, ptr addrspace(1) %15, align 8, !invariant.load !0
  %17 = extractelement <2 x float> %16, i64 0
  %18 = extractelement <2 x float> %16, i64 1
  %19 = fadd nsz float %17, %18
  %20 = getelementptr inbounds i8, ptr addrspace(1) %15, i64 256
  %21 = load <2 x float>, ptr addrspace(1) %20, align 8, !invariant.load !0
  %22 = extractelement <2 x float> %21, i64 0
  %23 = extractelement <2 x float> %21, i64 1
  %24 = fadd nsz float %19, %22
  %25 = fadd nsz float %23, %24
  %26 = tail call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %25, i32 16, i32 31)
  %27 = fadd nsz float %26, %25
  %28 = tail call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %27, i32 8, i32 31)
  %29 = fadd nsz float %28, %27
  %30 = tail call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %29, i32 4, i32 31)
  %31 = fadd nsz float %30, %29
  %32 = tail call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %31, i32 2, i32 31)
  %33 = fadd nsz float %32, %31
  %34 = tail call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %33, i32 1, i32 31)
  %35 = icmp eq i32 %7, 0
  %36 = icmp samesign ult i32 %5, 225
  %37 = and i1 %36, %35
  %38 = shl nuw nsw i32 %6, 3
  %39 = or disjoint i32 %38, %9
  %40 = zext nneg i32 %39 to i64
  %41 = getelementptr inbounds [4 x i8], ptr addrspace(1) %4, i64 %40
  %42 = fadd nsz float %34, %33
  %43 = fneg float %42
  br i1 %37, label %44, label %45

44:                                               ; preds = %2
  store float %43, ptr addrspace(1) %41, align 4
  br label %45

45:                                               ; preds = %44, %2
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32) #3

attributes #0 = { nounwind "nvvm.reqntid"="256,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }

!llvm.module.flags = !{!1, !4}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 0, i32 256}
!3 = !{i32 0, i32 1024}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
