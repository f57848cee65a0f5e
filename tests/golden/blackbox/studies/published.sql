--
-- PostgreSQL database dump
--

\restrict MwwAVXIEWH33J5Ez1MPgrVrbGxKNln8P3LvpgQ7Lkv0tADzkdtyHJJLaSTn5qBF

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: kabc_draws; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_draws (
    ticket bigint NOT NULL,
    worker bigint NOT NULL,
    rows bytea NOT NULL,
    started double precision NOT NULL,
    ended double precision NOT NULL
);


--
-- Name: kabc_late; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_late (
    id bigint NOT NULL,
    ticket bigint NOT NULL,
    lease bigint NOT NULL,
    worker bigint NOT NULL,
    rows bytea NOT NULL,
    started double precision NOT NULL,
    ended double precision NOT NULL,
    n_paid bigint NOT NULL
);


--
-- Name: kabc_late_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_late_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_late_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_late_id_seq OWNED BY public.kabc_late.id;


--
-- Name: kabc_notes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_notes (
    id bigint NOT NULL,
    study bigint NOT NULL,
    kind text NOT NULL,
    body text NOT NULL,
    written double precision NOT NULL,
    token text NOT NULL
);


--
-- Name: kabc_notes_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_notes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_notes_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_notes_id_seq OWNED BY public.kabc_notes.id;


--
-- Name: kabc_rounds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_rounds (
    study bigint NOT NULL,
    number bigint NOT NULL,
    opened double precision NOT NULL
);


--
-- Name: kabc_snapshots; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_snapshots (
    study bigint NOT NULL,
    number bigint NOT NULL,
    content bytea NOT NULL
);


--
-- Name: kabc_studies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_studies (
    id bigint NOT NULL,
    name text NOT NULL,
    spec text NOT NULL,
    state text NOT NULL,
    created double precision NOT NULL,
    revision bigint NOT NULL,
    changed double precision NOT NULL,
    facts text,
    limits text NOT NULL,
    answer text,
    n_rounds bigint NOT NULL,
    latest bigint NOT NULL,
    counted bigint NOT NULL,
    step_worker text NOT NULL,
    step_expires double precision NOT NULL,
    token text NOT NULL
);


--
-- Name: kabc_studies_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_studies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_studies_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_studies_id_seq OWNED BY public.kabc_studies.id;


--
-- Name: kabc_tickets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_tickets (
    id bigint NOT NULL,
    study bigint NOT NULL,
    round bigint NOT NULL,
    place bigint NOT NULL,
    arm bigint NOT NULL,
    piece bigint NOT NULL,
    start bigint NOT NULL,
    count bigint NOT NULL,
    state bigint NOT NULL,
    lease bigint NOT NULL,
    worker bigint,
    expires double precision NOT NULL,
    deaths bigint NOT NULL,
    n_paid bigint NOT NULL,
    token text
);


--
-- Name: kabc_tickets_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_tickets_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_tickets_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_tickets_id_seq OWNED BY public.kabc_tickets.id;


--
-- Name: kabc_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_tokens (
    id bigint NOT NULL,
    label text NOT NULL,
    scope text NOT NULL,
    digest text NOT NULL,
    created double precision NOT NULL,
    expires double precision
);


--
-- Name: kabc_tokens_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_tokens_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_tokens_id_seq OWNED BY public.kabc_tokens.id;


--
-- Name: kabc_totals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_totals (
    study bigint NOT NULL,
    arm bigint NOT NULL,
    n_samples bigint NOT NULL,
    n_paid bigint NOT NULL
);


--
-- Name: kabc_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_version (
    version_num character varying(32) NOT NULL
);


--
-- Name: kabc_workers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.kabc_workers (
    id bigint NOT NULL,
    study bigint NOT NULL,
    name text NOT NULL,
    facts text,
    first_seen double precision NOT NULL,
    last_seen double precision NOT NULL,
    changes bigint NOT NULL,
    changed double precision NOT NULL,
    round bigint DEFAULT '-1'::bigint NOT NULL,
    n_done bigint DEFAULT '0'::bigint NOT NULL,
    n_samples bigint DEFAULT '0'::bigint NOT NULL,
    n_paid bigint DEFAULT '0'::bigint NOT NULL
);


--
-- Name: kabc_workers_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.kabc_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: kabc_workers_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.kabc_workers_id_seq OWNED BY public.kabc_workers.id;


--
-- Name: kabc_late id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late ALTER COLUMN id SET DEFAULT nextval('public.kabc_late_id_seq'::regclass);


--
-- Name: kabc_notes id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_notes ALTER COLUMN id SET DEFAULT nextval('public.kabc_notes_id_seq'::regclass);


--
-- Name: kabc_studies id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_studies ALTER COLUMN id SET DEFAULT nextval('public.kabc_studies_id_seq'::regclass);


--
-- Name: kabc_tickets id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets ALTER COLUMN id SET DEFAULT nextval('public.kabc_tickets_id_seq'::regclass);


--
-- Name: kabc_tokens id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tokens ALTER COLUMN id SET DEFAULT nextval('public.kabc_tokens_id_seq'::regclass);


--
-- Name: kabc_workers id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers ALTER COLUMN id SET DEFAULT nextval('public.kabc_workers_id_seq'::regclass);


--
-- Data for Name: kabc_draws; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_draws (ticket, worker, rows, started, ended) FROM stdin;
1	1	\\x4b52311a0000007b2274223a223c6638222c2273223a5b32305d2c227a223a307d5e401f2b6b0cefd7c97a280808fd435abee838b9635921bd6d359235f8f0b1816076c1dfa9431dea6bb407fa9595fdeca3c0ceee10d7def4036c98abad81316971e775b133d6d52308e40d22788e47e7b6101828620ce3919c8f9ba6097fb5ba6ee261b379e378ea68b2841bc93419dfd8cdfbc280b2bcac07d3ece4c305e6ebccf5fee0ebf0f2f4fde8fdf140bf3f3fbf40bf3f3fbf3fbfbf3fbfbf3fbfbf3f	1795137554.5534866	1795137554.5536776
2	1	\\x4b52311c0000007b2274223a223c6638222c2273223a5b32305d2c227a223a3136307d78dacbb8bfe78be74141578d792bf2dcb76e8baccd9bfaeaeeeb086e6fa6f373a7856cdeebb9f467f0afbeb5b2c2b3eadf6cd01428baa7ed5d13b943493f6e99d786a332221a3b0237b9ea25d9a732da1a9dfc96a61074c75954f99efe938229575e24ef99a7b3a77de5fa2deb366a4e999cc5165dcbb024e5e8ac1846cee0a0056c5cec6c5cbc0ca23c5c0282cc022c3c1cbc825c0e58000010783e8a	1795137554.5591621	1795137554.5592551
3	1	\\x4b52311a0000007b2274223a223c6638222c2273223a5b32305d2c227a223a307df74efa538cde936f49b2694902791317821237cfbb5b2296a984f51908a0b7645c96bc067f843aa8b106adbb5b8d89189a362d2ed93f3fb09bad6049e252560f4dc763c4e22e835236a7edd6e88fe615a29a84bc917dff72b194e63e6191ab08d86e7fe4b3b1825dd778776e21a1207d7a0b68bf49f1b56404f8f3caedaadc0902d1e2edd2cbeeece9f5f39c403fbf3f3fbfbfc0403f3fbfbfbf3f3f3f3f3fbf	1795137554.5623176	1795137554.5623872
4	1	\\x4b52311a0000007b2274223a223c6638222c2273223a5b32305d2c227a223a307dfb8a81d3b056f66b5471ba6901a4ea6b80482541596cafed08aaf25ee657f3ec1d0461200a129bb3538174ab81fcf508572c3997dc6bd48f1d5aee91ba397767e56ee083045a445211bb66e11614022e408424c30a2e256686a5bface5dd29ce075616fba79613098f3c3df14e10d118c82faa37f526dae408f803080206120e0d0910fe0b0c0c09c912f80b403f4040404040404040403f404040403f403f40	1795137554.5624163	1795137554.562443
\.


--
-- Data for Name: kabc_late; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_late (id, ticket, lease, worker, rows, started, ended, n_paid) FROM stdin;
\.


--
-- Data for Name: kabc_notes; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_notes (id, study, kind, body, written, token) FROM stdin;
\.


--
-- Data for Name: kabc_rounds; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_rounds (study, number, opened) FROM stdin;
1	0	1795137554.540439
1	1	1795137554.713739
\.


--
-- Data for Name: kabc_snapshots; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_snapshots (study, number, content) FROM stdin;
\.


--
-- Data for Name: kabc_studies; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_studies (id, name, spec, state, created, revision, changed, facts, limits, answer, n_rounds, latest, counted, step_worker, step_expires, token) FROM stdin;
1	published	{"format":"kabc study","version":1,"kabc":"0.2.0.dev0","question":{"strategy":"kabc-tight","seed":5,"n_clusters":2,"delta":0.05,"min_separation":null,"pilot":null,"check_k":null,"block":null,"watch":true,"on_worker_loss":null,"names":["arm 0","arm 1","arm 2","arm 3"],"options":{},"kernel":null,"tolerance":null,"types":null,"reuse":null}}	running	1795137554.504469	4	1795137554.714636	{"arms":[{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false},{"size":null,"one_at_a_time":false,"paired":false,"in_order":false,"in_blocks":false,"fingerprint":"","recorded":false}],"notes":[],"columns":[],"price":0.0,"types":{},"source":""}	{"max_samples":null}	\N	2	1	0	vm-14807-528ae1a5	1795137614.526173	7548a9d042ea3bc5
\.


--
-- Data for Name: kabc_tickets; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_tickets (id, study, round, place, arm, piece, start, count, state, lease, worker, expires, deaths, n_paid, token) FROM stdin;
1	1	0	0	0	0	0	20	2	1	1	0	0	0	\N
2	1	0	1	3	0	0	20	2	1	1	0	0	0	\N
3	1	0	2	2	0	0	20	2	1	1	0	0	0	\N
4	1	0	3	1	0	0	20	2	1	1	0	0	0	\N
5	1	1	0	1	0	20	16	1	1	1	1795137614.723047	0	0	a380ff0c01772eb2
6	1	1	1	3	0	20	16	1	1	1	1795137614.723047	0	0	a380ff0c01772eb2
7	1	1	2	0	0	20	16	1	1	1	1795137614.723047	0	0	a380ff0c01772eb2
8	1	1	3	2	0	20	16	1	1	1	1795137614.723047	0	0	a380ff0c01772eb2
\.


--
-- Data for Name: kabc_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_tokens (id, label, scope, digest, created, expires) FROM stdin;
\.


--
-- Data for Name: kabc_totals; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_totals (study, arm, n_samples, n_paid) FROM stdin;
1	0	20	20
1	1	20	20
1	2	20	20
1	3	20	20
\.


--
-- Data for Name: kabc_version; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_version (version_num) FROM stdin;
0003
\.


--
-- Data for Name: kabc_workers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.kabc_workers (id, study, name, facts, first_seen, last_seen, changes, changed, round, n_done, n_samples, n_paid) FROM stdin;
1	1	vm-14807-528ae1a5	{"role":"run","host":"vm","boot":"8a6a7c0a-1872-41ae-a2b4-abdc1b47f298 pid:[4026531836]","pid":14807,"started":"924462","arms":["arm 0","arm 1","arm 2","arm 3"],"kabc":"0.2.0.dev0","python":"3.11.7"}	1795137554.513759	1795137554.724042	6	1795137554.724044	0	4	80	80
\.


--
-- Name: kabc_late_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_late_id_seq', 1, false);


--
-- Name: kabc_notes_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_notes_id_seq', 1, false);


--
-- Name: kabc_studies_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_studies_id_seq', 1, true);


--
-- Name: kabc_tickets_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_tickets_id_seq', 8, true);


--
-- Name: kabc_tokens_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_tokens_id_seq', 1, false);


--
-- Name: kabc_workers_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.kabc_workers_id_seq', 1, true);


--
-- Name: kabc_draws kabc_draws_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_draws
    ADD CONSTRAINT kabc_draws_pkey PRIMARY KEY (ticket);


--
-- Name: kabc_late kabc_late_lease; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late
    ADD CONSTRAINT kabc_late_lease UNIQUE (ticket, lease);


--
-- Name: kabc_late kabc_late_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late
    ADD CONSTRAINT kabc_late_pkey PRIMARY KEY (id);


--
-- Name: kabc_notes kabc_notes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_notes
    ADD CONSTRAINT kabc_notes_pkey PRIMARY KEY (id);


--
-- Name: kabc_rounds kabc_rounds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_rounds
    ADD CONSTRAINT kabc_rounds_pkey PRIMARY KEY (study, number);


--
-- Name: kabc_snapshots kabc_snapshots_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_snapshots
    ADD CONSTRAINT kabc_snapshots_pkey PRIMARY KEY (study);


--
-- Name: kabc_studies kabc_studies_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_studies
    ADD CONSTRAINT kabc_studies_name_key UNIQUE (name);


--
-- Name: kabc_studies kabc_studies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_studies
    ADD CONSTRAINT kabc_studies_pkey PRIMARY KEY (id);


--
-- Name: kabc_tickets kabc_tickets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets
    ADD CONSTRAINT kabc_tickets_pkey PRIMARY KEY (id);


--
-- Name: kabc_tickets kabc_tickets_place; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets
    ADD CONSTRAINT kabc_tickets_place UNIQUE (study, round, place);


--
-- Name: kabc_tokens kabc_tokens_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tokens
    ADD CONSTRAINT kabc_tokens_digest_key UNIQUE (digest);


--
-- Name: kabc_tokens kabc_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tokens
    ADD CONSTRAINT kabc_tokens_pkey PRIMARY KEY (id);


--
-- Name: kabc_totals kabc_totals_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_totals
    ADD CONSTRAINT kabc_totals_pkey PRIMARY KEY (study, arm);


--
-- Name: kabc_version kabc_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_version
    ADD CONSTRAINT kabc_version_pkc PRIMARY KEY (version_num);


--
-- Name: kabc_workers kabc_workers_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers
    ADD CONSTRAINT kabc_workers_name UNIQUE (study, name);


--
-- Name: kabc_workers kabc_workers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers
    ADD CONSTRAINT kabc_workers_pkey PRIMARY KEY (id);


--
-- Name: kabc_notes_study; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_notes_study ON public.kabc_notes USING btree (study, id);


--
-- Name: kabc_tickets_apart; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_tickets_apart ON public.kabc_tickets USING btree (study, state, round, place) WHERE (state = ANY (ARRAY[(1)::bigint, (3)::bigint]));


--
-- Name: kabc_tickets_deaths; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_tickets_deaths ON public.kabc_tickets USING btree (study, arm) WHERE (deaths > 0);


--
-- Name: kabc_tickets_unfinished; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX kabc_tickets_unfinished ON public.kabc_tickets USING btree (study, round, place) WHERE (state < 2);


--
-- Name: kabc_draws kabc_draws_ticket_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_draws
    ADD CONSTRAINT kabc_draws_ticket_fkey FOREIGN KEY (ticket) REFERENCES public.kabc_tickets(id) ON DELETE CASCADE;


--
-- Name: kabc_late kabc_late_ticket_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_late
    ADD CONSTRAINT kabc_late_ticket_fkey FOREIGN KEY (ticket) REFERENCES public.kabc_tickets(id) ON DELETE CASCADE;


--
-- Name: kabc_notes kabc_notes_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_notes
    ADD CONSTRAINT kabc_notes_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_rounds kabc_rounds_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_rounds
    ADD CONSTRAINT kabc_rounds_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_snapshots kabc_snapshots_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_snapshots
    ADD CONSTRAINT kabc_snapshots_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_tickets kabc_tickets_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_tickets
    ADD CONSTRAINT kabc_tickets_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_totals kabc_totals_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_totals
    ADD CONSTRAINT kabc_totals_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- Name: kabc_workers kabc_workers_study_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.kabc_workers
    ADD CONSTRAINT kabc_workers_study_fkey FOREIGN KEY (study) REFERENCES public.kabc_studies(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--

\unrestrict MwwAVXIEWH33J5Ez1MPgrVrbGxKNln8P3LvpgQ7Lkv0tADzkdtyHJJLaSTn5qBF

