import { readFileSync } from 'node:fs';
const vol=(pid:number)=>Number(/\nvoluntary_ctxt_switches:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`,'utf8'))![1]);
import { spawn } from 'node:child_process';
import { ClosedLoop } from '/work/main/bench/gen/zz-loop.ts';
import { cpuMicrosOf } from '/work/main/bench/machine/proc-stat.ts';
const server = spawn('taskset', ['-c','0',process.execPath,'--import','tsx','/work/main/bench/peers/uws-hello.ts'],{cwd:'/work/main',stdio:['ignore','inherit','inherit','ipc']});
await new Promise(r=>server.once('message',r));
const port = await new Promise<number>(r=>{server.once('message',(m:any)=>r(m.answered.port));server.send({});});
for (const c of [64,64,64,64,64,64,64,64]) { process.env.BURST = process.env.BURST ? '' : '1';
  const l = new ClosedLoop({port,request:Buffer.from('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'),connections:c,expected:200});
  await new Promise(r=>setTimeout(r,1000));
  const v0=vol(server.pid!),d0=l.done,s0=cpuMicrosOf(server.pid!)!,c0=process.cpuUsage(),t0=performance.now();
  await new Promise(r=>setTimeout(r,3000));
  const d=l.done-d0,s=cpuMicrosOf(server.pid!)!-s0,u=process.cpuUsage(c0),t=performance.now()-t0;
  console.log(c,process.env.BURST?'burst':'plain','sleeps/req',((vol(server.pid!)-v0)/d).toFixed(3),'rps',Math.round(d/t*1000),'srv us',(s/d).toFixed(2),'gen us',((u.user+u.system)/d).toFixed(2),'srv%',(s/t/10).toFixed(0),'gen%',((u.user+u.system)/t/10).toFixed(0));
  await l.stop(); if(l.failure) console.log(l.failure);
}
server.disconnect();
