-- Three studies of version 0.2.0.dev0 (schema 3), which took bad draws: a text, a sample of three columns, a time.
PRAGMA application_id = 1801544291;
BEGIN TRANSACTION;
CREATE TABLE kabc_draws (
	ticket INTEGER NOT NULL, 
	worker INTEGER NOT NULL, 
	rows BLOB NOT NULL, 
	started FLOAT NOT NULL, 
	ended FLOAT NOT NULL, 
	PRIMARY KEY (ticket), 
	FOREIGN KEY(ticket) REFERENCES kabc_tickets (id) ON DELETE CASCADE
);
INSERT INTO "kabc_draws" VALUES(1,1,X'4B5231190000007B2274223A223C6638222C2273223A5B325D2C227A223A307D20DB14CFE0A3C6B74839E85201E7403F',1.79512930917090582846e+09,1.79512930917110443114e+09);
INSERT INTO "kabc_draws" VALUES(2,1,X'4B5231190000007B2274223A223C6638222C2273223A5B325D2C227A223A307DCCF2227BB6E0B321AE0C70E2FAF2BFBF',1.79512930918073105807e+09,1.79512930918084526055e+09);
INSERT INTO "kabc_draws" VALUES(3,1,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307DCAB87AC279A80240',1.79512930942932605739e+09,1.79512930942946457866e+09);
INSERT INTO "kabc_draws" VALUES(4,1,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D02E9DC108E1F69BF',1.79512930942950439455e+09,1.79512930942952394488e+09);
INSERT INTO "kabc_draws" VALUES(5,1,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307DE9DB7FACAC54FC3F',1.79512930949029564852e+09,1.79512930949044871324e+09);
INSERT INTO "kabc_draws" VALUES(6,1,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D2CEF73566D01AEBF',1.79512930949048662185e+09,1.79512930949050498012e+09);
INSERT INTO "kabc_draws" VALUES(7,1,X'4B52311A0000007B2274223A223C5537222C2273223A5B315D2C227A223A32387D78DA2B616060C804E25C204E05E27C202E05E21220060030240308',1.79512930954697489741e+09,1.79512930954708647729e+09);
INSERT INTO "kabc_draws" VALUES(8,1,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D5420640F9852D5BF',1795129309.54713,1.79512930954719686512e+09);
INSERT INTO "kabc_draws" VALUES(9,5,X'4B52311B0000007B2274223A223C6638222C2273223A5B322C335D2C227A223A307DE61A904F43C9023A79D0FBFBE9F83F3FCD057AD7FDE37F619B642020EDF9BFBF4BE879C6988671EC6A06BDB4D4D13FBF',1000000000.0,1000000001.0);
INSERT INTO "kabc_draws" VALUES(10,4,X'4B52311B0000007B2274223A223C6638222C2273223A5B322C325D2C227A223A307D0DC0A49AC0D4F0144070003EC7F1BF3F98328EFF551A79999C18A614ECD2BF3F',1000000000.0,1000000001.0);
INSERT INTO "kabc_draws" VALUES(11,3,X'4B52311B0000007B2274223A223C6638222C2273223A5B322C325D2C227A223A307DDB10EE1CC35F0F1573AF4173D2EDBFBF1FF3785D09BFD381AF0C9255D3D93FBF',1000000000.0,1000000001.0);
INSERT INTO "kabc_draws" VALUES(12,6,X'4B5231190000007B2274223A223C6638222C2273223A5B325D2C227A223A307D20F714F3E0E8C66D488EE8D40D014040',1.7951293099749832153e+09,1.79512930997508072857e+09);
INSERT INTO "kabc_draws" VALUES(13,6,X'4B5231190000007B2274223A223C6638222C2273223A5B325D2C227A223A307DCCF2227BB6E0B321AE0C70E2FAF2BFBF',1.0e+308,1.0e+308);
INSERT INTO "kabc_draws" VALUES(14,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307DCAB87AC279A80E40',1.79512931003894686695e+09,1795129310.03903);
INSERT INTO "kabc_draws" VALUES(15,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D02E9DC108E1F69BF',1.79512931004707217219e+09,1.79512931004714322092e+09);
INSERT INTO "kabc_draws" VALUES(16,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307DF5ED3F56562A0A40',1.79512931011415338517e+09,1.79512931011424016957e+09);
INSERT INTO "kabc_draws" VALUES(17,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D2CEF73566D01AEBF',1.79512931013415050511e+09,1.79512931013422393803e+09);
INSERT INTO "kabc_draws" VALUES(18,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D3EF12DD8E3580A40',1.79512931019100475307e+09,1.79512931019109487533e+09);
INSERT INTO "kabc_draws" VALUES(19,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D5420640F9852D5BF',1.7951293102045147419e+09,1.79512931020460391046e+09);
INSERT INTO "kabc_draws" VALUES(20,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D6665E19C312BEBBF',1.79512931026302623746e+09,1.79512931026311516762e+09);
INSERT INTO "kabc_draws" VALUES(21,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307DC456496B15B00C40',1.79512931028289675705e+09,1.79512931028298258783e+09);
INSERT INTO "kabc_draws" VALUES(22,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D234FDBC3FF3772BF',1.7951293103418884278e+09,1.79512931034197211269e+09);
INSERT INTO "kabc_draws" VALUES(23,6,X'4B5231190000007B2274223A223C6638222C2273223A5B315D2C227A223A307D1B7158408BB50D40',1.79512931035559511177e+09,1.79512931035567712776e+09);
CREATE TABLE kabc_late (
	id INTEGER NOT NULL, 
	ticket INTEGER NOT NULL, 
	lease INTEGER NOT NULL, 
	worker INTEGER NOT NULL, 
	rows BLOB NOT NULL, 
	started FLOAT NOT NULL, 
	ended FLOAT NOT NULL, 
	n_paid INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT kabc_late_lease UNIQUE (ticket, lease), 
	FOREIGN KEY(ticket) REFERENCES kabc_tickets (id) ON DELETE CASCADE
);
CREATE TABLE kabc_notes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	study INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	body TEXT NOT NULL, 
	written FLOAT NOT NULL, 
	token TEXT NOT NULL, 
	FOREIGN KEY(study) REFERENCES kabc_studies (id) ON DELETE CASCADE
);
INSERT INTO "kabc_notes" VALUES(1,2,'returned','{"round":1,"arm":2,"piece":0,"ticket":9,"lease":1,"worker":"host-24055-2c69ed3c","message":""}',1.795129309744982481e+09,'');
CREATE TABLE kabc_rounds (
	study INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	opened FLOAT NOT NULL, 
	PRIMARY KEY (study, number), 
	FOREIGN KEY(study) REFERENCES kabc_studies (id) ON DELETE CASCADE
);
INSERT INTO "kabc_rounds" VALUES(1,1,1.7951293091140060425e+09);
INSERT INTO "kabc_rounds" VALUES(1,2,1.79512930941000127789e+09);
INSERT INTO "kabc_rounds" VALUES(1,3,1.7951293094530105591e+09);
INSERT INTO "kabc_rounds" VALUES(1,4,1.79512930952699923522e+09);
INSERT INTO "kabc_rounds" VALUES(2,1,1.79512930970499062538e+09);
INSERT INTO "kabc_rounds" VALUES(3,1,1.79512930991999650003e+09);
INSERT INTO "kabc_rounds" VALUES(3,2,1.79512931002001619338e+09);
INSERT INTO "kabc_rounds" VALUES(3,3,1.79512931008000373839e+09);
INSERT INTO "kabc_rounds" VALUES(3,4,1.79512931017298245426e+09);
INSERT INTO "kabc_rounds" VALUES(3,5,1.795129310233010292e+09);
INSERT INTO "kabc_rounds" VALUES(3,6,1.79512931031198787689e+09);
CREATE TABLE kabc_snapshots (
	study INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (study), 
	FOREIGN KEY(study) REFERENCES kabc_studies (id) ON DELETE CASCADE
);
CREATE TABLE kabc_studies (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	state TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	revision INTEGER NOT NULL, 
	changed FLOAT NOT NULL, 
	facts TEXT, 
	limits TEXT NOT NULL, 
	answer TEXT, 
	n_rounds INTEGER NOT NULL, 
	latest INTEGER NOT NULL, 
	counted INTEGER NOT NULL, 
	step_worker TEXT NOT NULL, 
	step_expires FLOAT NOT NULL, 
	token TEXT NOT NULL, 
	UNIQUE (name)
);
INSERT INTO "kabc_studies" VALUES(1,'texts','{"format":"kabc study","version":1,"kabc":"0.2.0.dev0","question":{"strategy":"anytime","seed":0,"n_clusters":2,"delta":0.05,"min_separation":null,"pilot":null,"check_k":null,"block":null,"watch":true,"on_worker_loss":null,"names":["a","b"],"options":{},"kernel":null,"tolerance":null,"types":null,"reuse":null}}','running',1.79512930840401196477e+09,6,1.79512930952699923522e+09,'{"arms":[{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false}],"notes":[],"columns":[],"price":0.0,"types":{},"source":""}','{"max_samples":400}',NULL,4,4,3,'',0.0,'f748c24897a3df7e');
INSERT INTO "kabc_studies" VALUES(2,'widths','{"format":"kabc study","version":1,"kabc":"0.2.0.dev0","question":{"strategy":"anytime","seed":0,"n_clusters":2,"delta":0.05,"min_separation":null,"pilot":null,"check_k":null,"block":null,"watch":true,"on_worker_loss":null,"names":["a","b","c"],"options":{},"kernel":null,"tolerance":null,"types":null,"reuse":null}}','running',1.79512930958199787138e+09,3,1.79512930970599651333e+09,'{"arms":[{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false}],"notes":[],"columns":[],"price":0.0,"types":{},"source":""}','{"max_samples":400}',NULL,1,1,0,'',0.0,'06690e716b94f83d');
INSERT INTO "kabc_studies" VALUES(3,'times','{"format":"kabc study","version":1,"kabc":"0.2.0.dev0","question":{"strategy":"anytime","seed":0,"n_clusters":2,"delta":0.05,"min_separation":null,"pilot":null,"check_k":null,"block":null,"watch":true,"on_worker_loss":null,"names":["a","b"],"options":{},"kernel":null,"tolerance":null,"types":null,"reuse":null}}','ended',1.79512930982798337938e+09,9,1.79512931046600055697e+09,'{"arms":[{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false}],"notes":[],"columns":[],"price":0.0,"types":{},"source":""}','{"max_samples":60}','{"format":"kabc result","version":2,"status":"decided","certified":true,"conditional_on":"there are exactly 2 groups","names":["a","b"],"groups":[{"number":1,"arms":["a"]},{"number":2,"arms":["b"]}],"labels":{"a":1,"b":2},"n_groups_at_least":2,"n_samples":14,"n_pilot":0,"n_unused":0,"samples_per_arm":{"a":7,"b":7},"n_told_apart":1,"needs":null,"delta":0.05,"n_clusters":2,"strategy":"Anytime KABC(delta = 0.05, K = 2)","guarantee":{"strategy":"Anytime KABC(delta = 0.05, K = 2)","claim":"If there are exactly 2 groups, this grouping is wrong with probability at most 5 %, no matter when you look.","assumptions":["samples of an arm are independent and identically distributed","samples of different arms are independent of each other","watched: samples of an arm come in no particular order; a false alarm has probability at most 1 %","few samples: only a strong dependence or drift would show in 7 samples of an arm","not watched: whether samples of different arms are independent of each other"],"rule":["before each round several experts fix a score for each pair, from earlier samples","samples x of one arm and y of the other multiply its evidence by (1 + h(x))(1 - h(y)), h = tanh(score/2)","or one x against m of y by (m + 1) r(x) / (r(x) + sum of r(y)), r = exp(score)","both have mean at most 1 if the arms are the same; experts are averaged with weights fixed before","a pair is told apart when its evidence reaches 1 / 0.004 = 250: pairs over their share of delta, by Ville''s inequality","a guess of the whole partition is claimed; of a capital of 1 at least w is bet against it, if it is wrong","only samples drawn later count for a claim","a claim needs evidence 1 / (w x 0.046) = 32.6087 (claim 1, w = 0.667) for each arm against each group that is not its own","and the square root of that for each pair across groups of two arms or more","a claim with all of this is proven: no other partition into at most K groups is left"],"conditional_on":"there are exactly 2 groups"},"kernel":"","seed":0,"notes":[],"set_aside":{},"assumptions":[],"k_doubt":0.5,"tolerance":null,"reference":[],"verdict":null,"failures":{},"failure":"","columns":[],"levels":{},"block":1,"price":0.0,"n_recorded":0,"n_lost":0,"spent":0.0,"seconds":0.5111943049998899,"origin":{"date":"2026-11-19T23:01:50+00:00","source":"","command":"","version":"0.2.0.dev0"},"effects":{"reference":1,"groups":[{"number":1,"n":7,"columns":[{"column":"value","n":7,"median":-0.33316613677061935,"low":-1.5108134566288267,"high":-0.00348114390885208,"mean":-0.5830008437463314,"sd":0.6557064465194373,"shares":[],"contrasts":[]}]},{"number":2,"n":7,"columns":[{"column":"value","n":7,"median":3.5859783536678567,"low":2.541352847307162,"high":3.804110459969637,"mean":3.3804527875842845,"sd":0.5524933943998334,"shares":[],"contrasts":[{"what":"difference","value":3.919144490438476,"low":3.2751204232294655,"high":4.893831858664166,"size":8.5541756550521,"at":null,"shares":null}]}]}],"arms":[{"arm":"a","group":1,"n":7,"oddness":0.20879597766858415,"distance":1.0,"column":"value","columns":[{"column":"value","n":7,"median":-0.33316613677061935,"low":-1.5108134566288267,"high":-0.00348114390885208,"mean":-0.5830008437463314,"sd":0.6557064465194373,"shares":[],"contrasts":[]}]},{"arm":"b","group":2,"n":7,"oddness":0.20879597766858415,"distance":1.0,"column":"value","columns":[{"column":"value","n":7,"median":3.5859783536678567,"low":2.541352847307162,"high":3.804110459969637,"mean":3.3804527875842845,"sd":0.5524933943998334,"shares":[],"contrasts":[]}]}]},"told_apart":[{"arms":["a","b"],"round":6,"strength":1.0610614357740171}],"rounds":[{"number":1,"delta":0.05,"n":2,"n_samples":4,"n_groups":1},{"number":2,"delta":0.05,"n":3,"n_samples":6,"n_groups":1},{"number":3,"delta":0.05,"n":4,"n_samples":8,"n_groups":1},{"number":4,"delta":0.05,"n":5,"n_samples":10,"n_groups":1},{"number":5,"delta":0.05,"n":6,"n_samples":12,"n_groups":1},{"number":6,"delta":0.05,"n":7,"n_samples":14,"n_groups":2}],"evidence":{"by_bets":true,"counts":{"shape":[2],"kind":"int","fill":7},"compared":{"shape":[2],"kind":"int","data":[0,1]},"told":{"shape":[2,2],"kind":"int","data":[0,6,6,0]},"values":{"shape":[2,2],"kind":"float","data":[0.0,5.8586092490770385,5.8586092490770385,0.0]},"limits":{"shape":[2,2],"kind":"float","fill":5.521460917862247},"variances":{"shape":[2],"kind":"float","fill":null}},"samples":[{"shape":[7,1],"kind":"float","data":[-1.6525103588084447,-1.1801873515430512,-0.0030668043827094546,-0.058604637912109986,-0.33316613677061935,-0.8490226806708676,-0.004447936136518202]},{"shape":[7,1],"kind":"float","data":[3.7384200608380667,2.2287872873989687,3.8322634881688815,3.270672487092947,3.293403328802156,3.5859783536678567,3.713644507121115]}],"trace":{"n_samples":{"shape":[6],"kind":"int","data":[4,6,8,10,12,14]},"strength":{"shape":[6,2,2],"kind":"float","data":[0.0,0.0,0.0,0.0,0.0,0.1293,0.1293,0.0,0.0,0.3273,0.3273,0.0,0.0,0.5683,0.5683,0.0,0.0,0.8141,0.8141,0.0,0.0,1.0611,1.0611,0.0]}}}',6,6,5,'',0.0,'6cc2e74f9f4e1398');
CREATE TABLE kabc_tickets (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	study INTEGER NOT NULL, 
	round INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	arm INTEGER NOT NULL, 
	piece INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	state INTEGER NOT NULL, 
	lease INTEGER NOT NULL, 
	worker INTEGER, 
	expires FLOAT NOT NULL, 
	deaths INTEGER NOT NULL, 
	n_paid INTEGER NOT NULL, 
	token TEXT, 
	CONSTRAINT kabc_tickets_place UNIQUE (study, round, place), 
	FOREIGN KEY(study) REFERENCES kabc_studies (id) ON DELETE CASCADE
);
INSERT INTO "kabc_tickets" VALUES(1,1,1,0,1,0,0,2,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(2,1,1,1,0,0,0,2,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(3,1,2,0,1,0,2,1,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(4,1,2,1,0,0,2,1,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(5,1,3,0,1,0,3,1,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(6,1,3,1,0,0,3,1,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(7,1,4,0,1,0,4,1,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(8,1,4,1,0,0,4,1,2,1,1,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(9,2,1,0,2,0,0,2,2,2,5,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(10,2,1,1,1,0,0,2,2,1,4,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(11,2,1,2,0,0,0,2,2,1,3,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(12,3,1,0,1,0,0,2,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(13,3,1,1,0,0,0,2,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(14,3,2,0,1,0,2,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(15,3,2,1,0,0,2,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(16,3,3,0,1,0,3,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(17,3,3,1,0,0,3,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(18,3,4,0,1,0,4,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(19,3,4,1,0,0,4,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(20,3,5,0,0,0,5,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(21,3,5,1,1,0,5,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(22,3,6,0,0,0,6,1,2,1,6,0.0,0,0,NULL);
INSERT INTO "kabc_tickets" VALUES(23,3,6,1,1,0,6,1,2,1,6,0.0,0,0,NULL);
CREATE TABLE kabc_tokens (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	label TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	expires FLOAT, 
	UNIQUE (digest)
);
CREATE TABLE kabc_totals (
	study INTEGER NOT NULL, 
	arm INTEGER NOT NULL, 
	n_samples INTEGER NOT NULL, 
	n_paid INTEGER NOT NULL, 
	PRIMARY KEY (study, arm), 
	FOREIGN KEY(study) REFERENCES kabc_studies (id) ON DELETE CASCADE
);
INSERT INTO "kabc_totals" VALUES(1,0,4,4);
INSERT INTO "kabc_totals" VALUES(1,1,4,4);
INSERT INTO "kabc_totals" VALUES(3,0,6,6);
INSERT INTO "kabc_totals" VALUES(3,1,6,6);
CREATE TABLE kabc_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT kabc_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "kabc_version" VALUES('0003');
CREATE TABLE kabc_workers (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	study INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	facts TEXT, 
	first_seen FLOAT NOT NULL, 
	last_seen FLOAT NOT NULL, 
	changes INTEGER NOT NULL, 
	changed FLOAT NOT NULL, round INTEGER DEFAULT '-1' NOT NULL, n_done INTEGER DEFAULT '0' NOT NULL, n_samples INTEGER DEFAULT '0' NOT NULL, n_paid INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT kabc_workers_name UNIQUE (study, name), 
	FOREIGN KEY(study) REFERENCES kabc_studies (id) ON DELETE CASCADE
);
INSERT INTO "kabc_workers" VALUES(1,1,'host-24055-18c6ab3c','{"role":"run","host":"host","boot":"","pid":24055,"started":"99630","arms":["a","b"],"kabc":"0.2.0.dev0","python":"3.11.7","so_far":{"n_samples":8,"n_groups":2,"n_groups_at_least":1,"certified":false,"forecast":null}}',1.79512930845599317552e+09,1.79512930954800105096e+09,11,1.79512930954800105096e+09,4,2,2,2);
INSERT INTO "kabc_workers" VALUES(2,2,'host-24055-2c69ed3c','{"role":"run","host":"host","boot":"","pid":24055,"started":"99630","arms":["a","b","c"],"kabc":"0.2.0.dev0","python":"3.11.7"}',1795129309.64102,1.795129309744982481e+09,3,1.795129309744982481e+09,-1,0,0,0);
INSERT INTO "kabc_workers" VALUES(3,2,'one',NULL,1.79512930975198292736e+09,1.79512930977801370624e+09,2,1.79512930977801370624e+09,1,1,2,2);
INSERT INTO "kabc_workers" VALUES(4,2,'two',NULL,1.79512930978698587421e+09,1.79512930979398632053e+09,2,1.79512930979398632053e+09,1,1,2,2);
INSERT INTO "kabc_workers" VALUES(5,2,'three',NULL,1.79512930980400443078e+09,1.79512930981100511554e+09,2,1.79512930981100511554e+09,1,1,2,2);
INSERT INTO "kabc_workers" VALUES(6,3,'host-24055-dfc56262','{"role":"run","host":"host","boot":"","pid":24055,"started":"99630","arms":["a","b"],"kabc":"0.2.0.dev0","python":"3.11.7"}',1.79512930986399197579e+09,1.795129310356003046e+09,25,1.795129310356003046e+09,6,2,2,2);
CREATE INDEX kabc_tickets_unfinished ON kabc_tickets (study, round, place) WHERE state < 2;
CREATE INDEX kabc_tickets_deaths ON kabc_tickets (study, arm) WHERE deaths > 0;
CREATE INDEX kabc_notes_study ON kabc_notes (study, id);
CREATE INDEX kabc_tickets_apart ON kabc_tickets (study, state, round, place) WHERE state IN (1, 3);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('kabc_studies',3);
INSERT INTO "sqlite_sequence" VALUES('kabc_workers',6);
INSERT INTO "sqlite_sequence" VALUES('kabc_tickets',23);
INSERT INTO "sqlite_sequence" VALUES('kabc_notes',1);
COMMIT;